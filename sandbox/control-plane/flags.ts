import { join } from 'node:path'
import type { CertificateFiles } from './credentials.ts'
import { HOST } from './free-ports.ts'

/** Flags of one server, without the leading dashes. null removes a default. */
export type Flags = Readonly<Record<string, string | null>>

export function etcdFlags(directory: string, url: string, peerPort: number): Flags {
  const peerUrl = `http://${HOST}:${peerPort}`
  return {
    'data-dir': join(directory, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
    // The data does not have to survive a machine crash. Killing the process loses nothing.
    'unsafe-no-fsync': 'true',
    'log-level': 'warn',
  }
}

export function apiServerFlags(server: string, port: number, etcdUrl: string, files: CertificateFiles): Flags {
  return {
    'advertise-address': HOST,
    'bind-address': HOST,
    'secure-port': String(port),
    'etcd-servers': etcdUrl,
    'tls-cert-file': files.serving,
    'tls-private-key-file': files.servingKey,
    'client-ca-file': files.ca,
    'service-account-issuer': `${server}/`,
    'service-account-key-file': files.serviceAccounts,
    'service-account-signing-key-file': files.serviceAccountsKey,
    'authorization-mode': 'RBAC',
    'service-cluster-ip-range': '10.0.0.0/24',
    'allow-privileged': 'true',
    // There is one API server, and nothing reads its Endpoints.
    'endpoint-reconciler-type': 'none',
    profiling: 'false',
  }
}

export function controllerManagerFlags(port: number, kubeconfig: string, files: CertificateFiles): Flags {
  return {
    kubeconfig,
    'bind-address': HOST,
    'secure-port': String(port),
    'tls-cert-file': files.serving,
    'tls-private-key-file': files.servingKey,
    'leader-elect': 'false',
    // Hundreds of objects are deleted at once. With the default of 20 requests per second, we would measure that limit.
    'kube-api-qps': '500',
    'kube-api-burst': '1000',
    'concurrent-gc-syncs': '20',
    'concurrent-namespace-syncs': '10',
    profiling: 'false',
  }
}

export function renderFlags(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => (value === null ? [] : [`--${name}=${value}`]))
}
