"""`fusioninfer plan`: which groups of services start on which nodes."""
