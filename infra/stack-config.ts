import { isJsonObject } from '@open-terrain/constructs/infra'
import { Config, getStack, type Output, RunError, runtime, secret } from '@pulumi/pulumi'
import { ConfigError, type EnvironmentConfig, PROJECT, parseConfig } from './config.ts'
import { secretName } from './config-schema.ts'
import type { SecretTexts } from './secrets.ts'

export interface StackConfig {
  readonly environment: EnvironmentConfig
  readonly secrets: { readonly names: readonly string[]; readonly texts: Output<SecretTexts> }
}

const SECRETS = `${PROJECT}:secrets`
const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/
const HOW = `pulumi config set --secret --path '${SECRETS}.<name>.<key>'`

/** The stack for trying things: the cluster of the current context is good enough for it. */
const TRIES = 'dev'

/**
 * Returns which cluster the stack is for. Throws a RunError if a stack leaves that to the current context of whoever runs it, which may be another cluster.
 */
export function readClusterConfig(): { readonly kubeconfig?: Output<string>; readonly context?: string } {
  const kubernetes = new Config('kubernetes')
  const [kubeconfig, context] = [kubernetes.getSecret('kubeconfig'), kubernetes.get('context')]
  if (kubeconfig === undefined && context === undefined && getStack() !== TRIES)
    throw new RunError(
      'kubernetes:context is not set: run pulumi config set kubernetes:context <context of your kubeconfig>, so that this stack cannot change another cluster',
    )
  return { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) }
}

/** Reads the configuration of the running stack. Throws a RunError that names each invalid key. Pulumi shows it without a stack trace. */
export function readStackConfig(): StackConfig {
  try {
    return readConfig()
  } catch (error) {
    throw error instanceof ConfigError ? new RunError(error.message) : error
  }
}

function readConfig(): StackConfig {
  const prefix = `${PROJECT}:`
  const all = Object.entries(runtime.allConfig()).filter(([key]) => key.startsWith(prefix))
  const environment = parseConfig(Object.fromEntries(all.map(([key, value]) => [key.slice(prefix.length), value])))
  return { environment, secrets: readSecrets() }
}

function readSecrets(): StackConfig['secrets'] {
  const text = runtime.allConfig()[SECRETS] ?? '{}'
  const names = Object.keys(parseSecrets(text))
  return { names, texts: new Config(PROJECT).getSecretObject<SecretTexts>('secrets') ?? secret<SecretTexts>({}) }
}

/** Its error messages contain no value. */
function parseSecrets(text: string): SecretTexts {
  const wrong = new ConfigError([
    `${SECRETS} must be an object of Secrets by name, each an object of key and text: set each with ${HOW}`,
  ])
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrong
  }
  if (!isJsonObject(value) || !Object.values(value).every(isTexts)) throw wrong
  const problems = Object.entries(value as SecretTexts).flatMap(([name, texts]) => [
    ...(secretName.safeParse(name).error?.issues.map(({ message }) => `${SECRETS}.${name}: this name ${message}`) ??
      []),
    ...Object.keys(texts)
      .filter((key) => !SECRET_KEY.test(key))
      .map((key) => `${SECRETS}.${name}.${key}: this key must be letters, digits, dashes, dots and underscores`),
  ])
  if (problems.length > 0) throw new ConfigError(problems)
  return value as SecretTexts
}

function isTexts(value: unknown): boolean {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string')
}
