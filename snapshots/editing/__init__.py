"""Write the configuration of editors that run in the browser and save to git."""
