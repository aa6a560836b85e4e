"""Parts of controllers: paths, and rates of commands that follow them."""
