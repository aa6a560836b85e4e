"""What may be wrong, in words: errors, and fields that check themselves."""
