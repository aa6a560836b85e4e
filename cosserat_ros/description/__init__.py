"""What a robot file may say."""
