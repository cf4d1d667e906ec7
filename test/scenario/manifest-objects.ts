import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../operator/kube/kube-object.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`

/** Objects of the Prometheus operator, which the clusters of tests do not have. */
export const isForeign = ({ apiVersion }: KubeObject) => apiVersion.startsWith('monitoring.coreos.com/')

export function objectsOf(content: string): KubeObject[] {
  return parseAllDocuments(content).map((document) => document.toJS() as KubeObject)
}
