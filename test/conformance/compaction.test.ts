import { expect } from 'vitest'
import { isApiError } from '../../operator/kube/api-error.ts'
import { startCluster } from '../../sandbox/control-plane/cluster.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, eventsUntil, position } from './objects.ts'
import {
  conformAlone,
  EXPIRED,
  memoryServer,
  realServer,
  refusalOf,
  type Server,
  type Subject,
  untilServed,
} from './subjects.ts'

/** A server whose history can be compacted. */
interface Forgetful extends Server {
  /** Resolves when versions older than the last change are compacted. */
  forget(isGone: () => Promise<boolean>): Promise<void>
}

async function realForgetful(): Promise<Forgetful> {
  const { controlPlane } = await startCluster({ isSeeded: true, apiServerFlags: { 'etcd-compaction-interval': '1s' } })
  const server = await realServer(controlPlane.kubeconfigPath)
  return {
    ...server,
    async forget(isGone) {
      // Only a new process has no old events in memory, and reads old pages from etcd, where they are gone after the compaction.
      await controlPlane.apiServer.kill()
      await controlPlane.apiServer.start()
      await untilServed(server.client, IMAGE)
      while (!(await isGone()));
    },
    async close() {
      await server.close()
      await controlPlane.stop()
    },
  }
}

async function memoryForgetful(): Promise<Forgetful> {
  const server = memoryServer()
  return { ...server, forget: async () => server.cluster.compact() }
}

conformAlone(
  'after a compaction old positions and pages answer Expired, and a new list goes on',
  { memory: memoryForgetful, real: realForgetful },
  async (server, subject) => {
    for (const name of ['a', 'b', 'c']) await create(IMAGE, subject, name)
    const { resourceVersion, continueToken = '' } = await page(subject)
    const { metadata } = await create(IMAGE, subject, 'd')
    await server.forget(async () => {
      // Only revisions before a newer one are compacted.
      await subject.client.mergePatch(IMAGE, metadata, { metadata: { annotations: { at: String(performance.now()) } } })
      return isExpired(page(subject, continueToken))
    })
    expect(await refusalOf(page(subject, continueToken))).toEqual(EXPIRED)
    expect(await refusalOf(eventsUntil(subject, IMAGE, resourceVersion, () => true))).toEqual(EXPIRED)
    const fresh = await position(subject, IMAGE)
    await create(IMAGE, subject, 'e')
    expect(await eventsUntil(subject, IMAGE, fresh, () => true)).toMatchObject([{ type: 'ADDED' }])
  },
)

function page({ client, namespace }: Subject, continueToken?: string) {
  return client.list(IMAGE, { namespace, limit: 2, ...(continueToken !== undefined && { continueToken }) })
}

async function isExpired(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => false,
    (error: unknown) => isApiError(error, 'Expired'),
  )
}
