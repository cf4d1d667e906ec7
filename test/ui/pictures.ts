/** Draws the pictures of `ot ui` in `docs/`: a class as the tests of the page have it, in light and in dark. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openPage } from '../../cli/ui/show-ui.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { resolveBrowser } from './browser-package.ts'
import { putImage, putLab, putMachine, putWarning, READY } from './class-of-labs.ts'
import { launchBrowser } from './launch-browser.ts'

const DOCS = join(import.meta.dirname, '../../docs')
/** Objects of {@link putLab} are from 08:00 on. */
const NOW = new Date('2026-01-01T09:10:00Z')
/** Pages of the docs load them. */
const LARGEST_BYTES = 100_000
const VIEW = { width: 1_000, height: 600 }

/** Each picture: where it is in the page, and a text that shows that it is complete. */
const PICTURES = [
  { name: 'labs', hash: '#/labs', seen: 'lab-12' },
  { name: 'lab', hash: '#/labs?lab=lab-03', seen: 'Map of lab-03' },
  { name: 'queue', hash: '#/queue', seen: 'Waiting for a slot: 3' },
] as const

const program = await resolveBrowser(console.error)
const client = new ScriptedClient()
await client.clock.advance(NOW.getTime() - client.clock.now())
fill()
const stopping = new AbortController()
const served = await openPage(
  { client, clock: client.clock },
  { port: 0, operatorNamespace: 'sync-operator' },
  stopping.signal,
)
const browser = await launchBrowser(program)
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport: VIEW, colorScheme, reducedMotion: 'reduce' })
    await page.clock.setFixedTime(NOW)
    await page.goto(served.url)
    for (const picture of PICTURES) await draw(page, picture, colorScheme)
  }
} finally {
  stopping.abort()
  await browser.close()
  await served.close()
}

async function draw(page: Page, { name, hash, seen }: (typeof PICTURES)[number], scheme: string): Promise<void> {
  await page.goto(`${new URL('.', served.url).href}${hash}`)
  await page.getByText(seen).or(page.getByLabel(seen)).first().waitFor()
  const png = await page.screenshot({ animations: 'disabled' })
  const path = join(DOCS, `ui-${name}-${scheme}.png`)
  if (png.length > LARGEST_BYTES) throw new Error(`${path} would have ${png.length} bytes, more than ${LARGEST_BYTES}`)
  writeFileSync(path, png)
  console.log(`wrote ${path}, ${png.length} bytes`)
}

/** A class on a morning: most labs are ready, one waits for an image, one has lost a disk, two are off. */
function fill(): void {
  const name = (at: number) => `lab-${String(at).padStart(2, '0')}`
  for (let at = 1; at <= 12; at++) putLab(client, name(at), READY, { expiresAt: '2026-01-01T17:00:00Z' })
  putLab(client, name(2), READY, { outdated: '1/2', warnings: 1, expiresAt: '2026-01-01T17:00:00Z' })
  putLab(
    client,
    name(3),
    { phase: 'Failed', reason: 'DiskLost', message: 'VirtualMachine router has lost its disk' },
    { components: [lost('router'), { kind: 'VirtualMachine', name: 'server', ...READY }] },
  )
  putMachine(client, name(3), 'server')
  putWarning(
    client,
    'Workspace',
    name(3),
    'VirtualMachine router has lost its disk: nothing is made again before somebody asks',
  )
  putLab(
    client,
    name(7),
    { phase: 'Provisioning', reason: 'WaitingForImages', message: 'Image kali is not ready' },
    { waitingFor: 'Image kali (Syncing)', expiresAt: '2026-01-01T17:00:00Z' },
  )
  for (const at of [11, 12]) putLab(client, name(at), READY, { reason: 'Halted' })
  client.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'sync-operator-slots', namespace: 'sync-operator' },
    data: { limit: '2', holders: JSON.stringify(['kali', 'windows-2022'].map(holder)) },
  } as KubeObject)
  const syncing = { phase: 'Syncing', reason: 'Syncing', message: 'downloading, attempt 1 of 3' }
  const queued = { phase: 'Queued', reason: 'Queued', message: 'waits for a slot: all 2 are in use' }
  putImage(client, 'kali', syncing, {
    progress: '42.0%',
    attempt: 1,
    references: { count: 1, names: ['Workspace/lab-07'] },
    startedAt: '2026-01-01T09:04:00Z',
  })
  putImage(client, 'windows-2022', syncing, {
    progress: '71.5%',
    attempt: 2,
    startedAt: '2026-01-01T08:40:00Z',
    references: { count: 2, names: ['DataSync/team/exam', 'Workspace/lab-09'] },
  })
  for (const [at, image] of ['debian-13', 'router-1.4', 'analyst'].entries())
    putImage(client, image, queued, { queuePosition: at + 1, ticket: `${at + 1}`, queuedAt: '2026-01-01T09:05:00Z' })
  putImage(client, 'vault', {
    phase: 'Queued',
    reason: 'SecretMissing',
    message: 'waiting for Secret s3 in namespace farm (spec.secretRef): create it, or correct the name',
  })
}

function holder(name: string) {
  return { uid: `uid-${name}`, namespace: 'farm', name, revision: '01234567', attempt: 1, claimant: 'leader' }
}

function lost(name: string) {
  return { kind: 'VirtualMachine', name, phase: 'Failed', reason: 'DiskLost', message: 'its disk is gone' }
}
