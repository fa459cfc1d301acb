"""Write definitions to start from for the folder of an existing site."""
