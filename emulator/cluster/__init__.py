"""Many servers under one scheduler: cluster files, policies, servers that are emulated or a table, and what runs cost.

The page: docs/howto/cluster.md. A policy of your own derives from `PlacementPolicy`.
"""

from ringhil.emulator.cluster.cluster import ClusterServer, ClusterTask, GpuCluster
from ringhil.emulator.cluster.policy import PlacementPolicy
from ringhil.emulator.cluster.read import cluster_schema, load_cluster
from ringhil.emulator.cluster.servers import Servers

__all__ = ["ClusterServer", "ClusterTask", "GpuCluster", "PlacementPolicy", "Servers", "cluster_schema", "load_cluster"]
