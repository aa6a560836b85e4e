"""The command `cosserat`, and its subcommands that need no ROS."""
