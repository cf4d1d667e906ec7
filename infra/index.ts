/** Public surface of the package: Open Terrain, and what constructs render, as components for Pulumi programs. Loading it makes no resource. */
export { ConfigError, type EnvironmentConfig, installationProps, parseConfig } from './config.ts'
export { imageProblem } from './image-reference.ts'
export type { KubernetesObject } from './kubernetes-object.ts'
export { type InstalledVersions, type MetricsAddress, OpenTerrain, type OpenTerrainArgs } from './open-terrain.ts'
export { Rendered, type RenderedArgs } from './rendered.ts'
export { type SecretTexts, SourceSecrets, type SourceSecretsArgs } from './secrets.ts'
