import { expect, it } from 'vitest'
import {
  aDataSyncWorld,
  dataSyncOf,
  Images,
  NAMESPACE,
  SPEC,
} from '../../../test/prepared/data-sync/data-sync-world.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { Store } from '../../runtime/store.ts'
import { imagesOf } from './caches.ts'
import { planDataSync } from './decide/plan.ts'
import { DataSyncReferences } from './references.ts'
import type { DataSyncView } from './world.ts'

const IMAGE = { namespace: NAMESPACE, name: '035-attacker' }

/** Returns the users of the image of the first vm, according to the caches. */
function usersOf(dataSync: DataSyncView, deletionTimestamp?: string) {
  const images = new Images()
  for (const image of planDataSync(aDataSyncWorld(dataSyncOf()), 0).apply) images.put(image)
  if (deletionTimestamp !== undefined) images.change(IMAGE.name, { deletionTimestamp })
  const dataSyncs = new Store<DataSyncView>().index(BY_IMAGE, imagesOf)
  dataSyncs.put({ ...dataSync, metadata: { ...dataSync.metadata, resourceVersion: '1' } })
  const stored = { get: (key: string) => images.stored.get(key.split('/')[1] ?? ''), onChange: () => () => undefined }
  const caches = { dataSyncs, images: stored } as unknown as ConstructorParameters<typeof DataSyncReferences>[1]
  return new DataSyncReferences(new ScriptedClient(NAMESPACE), caches).cached(IMAGE).users
}

it.each<[string, unknown]>([
  ['another vm breaks a rule', { ...SPEC, vms: [...SPEC.vms, { name: 'bad', url: 'ftp://images.example/bad' }] }],
  ['its own vm breaks a rule', { ...SPEC, vms: [{ ...SPEC.vms[0], diskSize: 'huge' }] }],
  ['a vm is missing', { ...SPEC, vms: [null, ...SPEC.vms] }],
])('a DataSync goes on using its images where %s', (_why, spec) => {
  expect(usersOf(dataSyncOf(spec))).toEqual(['DataSync/farm/lab'])
})

it.each<[string, unknown]>([
  ['there is no spec', null],
  ['there are no vms', { ...SPEC, vms: 'attacker' }],
  ['another vm has the name', { ...SPEC, vms: [{ ...SPEC.vms[0], name: 'other' }] }],
])('a DataSync uses nothing where %s', (_why, spec) => {
  expect(usersOf(dataSyncOf(spec))).toEqual([])
})

it.each<[string, string, object, { names: string[]; users: string[] }]>([
  ['one beside it had created', 'other', {}, { names: ['DataSync/farm/lab'], users: ['DataSync/farm/lab'] }],
  ['it uses, of one that is gone', 'gone', { reason: 'Synced' }, { names: ['DataSync/farm/lab'], users: [] }],
  ['is another one, of one that is gone', 'gone', { reason: 'NameConflict' }, { names: [], users: [] }],
  ['it may use, of one that is gone', 'gone', { isUnknown: true }, { names: ['DataSync/farm/lab'], users: [] }],
])('a DataSync refers to an image that %s', (_what, creator, row, expected) => {
  const images = new Images()
  const other = dataSyncOf(SPEC, { name: creator })
  for (const image of planDataSync(aDataSyncWorld(other), 0).apply) images.put(image)
  const dataSyncs = new Store<DataSyncView>().index(BY_IMAGE, imagesOf)
  const status =
    'isUnknown' in row ? {} : { images: [{ vm: 'attacker', name: IMAGE.name, phase: 'Failed', ...row } as never] }
  const all = [dataSyncOf(SPEC, {}, status), ...(creator === 'gone' ? [] : [other])]
  for (const one of all) dataSyncs.put({ ...one, metadata: { ...one.metadata, resourceVersion: '1' } })
  const stored = { get: (key: string) => images.stored.get(key.split('/')[1] ?? ''), onChange: () => () => undefined }
  const caches = { dataSyncs, images: stored } as unknown as ConstructorParameters<typeof DataSyncReferences>[1]
  const { names, users } = new DataSyncReferences(new ScriptedClient(NAMESPACE), caches).cached(IMAGE)
  const own = (all: readonly string[]) => all.filter((name) => name === 'DataSync/farm/lab')
  expect({ names: own(names), users: own(users) }).toEqual(expected)
})

it.each([
  ['before it was deleted', '2026-01-31T11:59:59Z', ['DataSync/farm/lab']],
  ['in the same second', '2026-01-31T12:00:00Z', ['DataSync/farm/lab']],
  ['after it was deleted', '2026-01-31T12:00:01Z', []],
])(
  'an image that is being deleted is used by a DataSync that was created %s: %s',
  (_when, creationTimestamp, users) => {
    expect(usersOf(dataSyncOf(SPEC, { creationTimestamp }), '2026-01-31T12:00:00Z')).toEqual(users)
  },
)
