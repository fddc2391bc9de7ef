"""Campaigns on several machines: Dask workers play, each through a process of its own that was checked before."""
