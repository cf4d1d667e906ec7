import { expect, vi } from 'vitest'
import { PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS } from '../../operator/kube/resource-types.ts'
import { type Full, object } from './objects.ts'
import { conform, type Subject } from './subjects.ts'

const DEFAULT = { 'storageclass.kubernetes.io/is-default-class': 'true' }

async function classOf(subject: Subject, name: string, spec: object = {}): Promise<unknown> {
  const more = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec }
  const wanted = { ...object(PERSISTENT_VOLUME_CLAIM, subject, name), spec: more } as unknown as Full
  const created = await subject.client.create<Full>(PERSISTENT_VOLUME_CLAIM, wanted)
  return (created.spec as { storageClassName?: string }).storageClassName
}

conform('The default class of the cluster', {
  'is that of a new claim that names none': async (subject) => {
    const { client, namespace } = subject
    const name = `default-of-${namespace}`
    const storageClass = { metadata: { name, annotations: DEFAULT }, provisioner: 'sandbox.example.com' }
    await client.create(STORAGE_CLASS, {
      apiVersion: 'storage.k8s.io/v1',
      kind: STORAGE_CLASS.kind,
      ...storageClass,
    })
    try {
      let number = 0
      // Admission sees a new class a moment later.
      await vi.waitFor(
        async () => {
          number += 1
          expect(await classOf(subject, `claim-${number}`)).toBe(name)
        },
        { timeout: 300_000, interval: 50 },
      )
      expect(await classOf(subject, 'another', { storageClassName: 'other' })).toBe('other')
      expect(await classOf(subject, 'none', { storageClassName: '' })).toBe('')
    } finally {
      await client.delete(STORAGE_CLASS, { name })
    }
  },
})
