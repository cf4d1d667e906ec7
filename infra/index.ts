/** Public API of the package: Pulumi components for Open Terrain and for objects that constructs render. Importing it creates no resource. */
export { ConfigError, type EnvironmentConfig, installationProps, parseConfig } from './config.ts'
export { imageProblem } from './image-reference.ts'
export type { KubernetesObject } from './kubernetes-object.ts'
export { type InstalledVersions, type MetricsAddress, OpenTerrain, type OpenTerrainArgs } from './open-terrain.ts'
export { Rendered, type RenderedArgs } from './rendered.ts'
export { type SecretTexts, SourceSecrets, type SourceSecretsArgs } from './secrets.ts'
