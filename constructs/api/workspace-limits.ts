/** Maximum numbers in one workspace: the API server refuses rules whose cost it cannot estimate. */
export const WORKSPACE_LIMITS = {
  vms: 100,
  /** Characters of `userData` of all machines together: kubectl keeps a copy of all that it applies in an annotation, which may have as many bytes. */
  userData: 262_144,
  /** Fewer and shorter than for a VirtualMachine alone, because the cost of their rules counts for each machine. */
  vmUsers: { users: 4, keys: 2, keyLength: 1024 },
  /** Beside its name: a line of /etc/hosts of a VirtualMachine has at most four names. */
  aliases: 3,
  /** Members that one waits for. */
  dependsOn: 8,
  /** Disks of a machine beside its root disk. */
  vmDisks: 8,
  containerClusters: 50,
  containers: 4,
  /** Few, because the cost of the rules for their words counts for each, as it does for each container. */
  initContainers: 2,
  networks: 64,
  volumes: 64,
  interfaces: 8,
  /** One less than a VirtualMachine may have: the gateway is a route too. */
  routes: 31,
  nameservers: 8,
  env: 32,
  /** Secrets and ConfigMaps of which a container has all keys as variables. */
  envFrom: 8,
  /** Words of a command, and of its arguments. */
  words: 64,
  files: 8,
  pullSecrets: 4,
  volumeMounts: 8,
  portMappings: 16,
  capabilities: 16,
  roles: 32,
  services: 16,
  servicePorts: 16,
  secrets: 16,
  secretKeys: 16,
} as const
