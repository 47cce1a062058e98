"""Facts about the world, as data: engines and images, endpoint pickers, codes."""
