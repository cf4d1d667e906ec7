import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { Preconditions } from '../runtime/preconditions.ts'
import { isNobodyElses } from './decide/ensure-image.ts'
import { referencesOf, sumReferences } from './references.ts'

const { signal } = new AbortController()
const REF = { namespace: 'farm', name: 'golden' }
const OWNER = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name: 'lab' } }
const namesOf = (kind: string, count: number) => Array.from({ length: count }, (_none, at) => `${kind}/n/${at}`)

describe.each([1, 9, 10, 11, 40])('of %i references of its own', (count) => {
  const own = namesOf('VirtualMachine', count)
  const isWritten = async (...others: readonly string[]) => {
    const countReferences = async () => sumReferences([own, others].map((names) => referencesOf(names)))
    const preconditions = new Preconditions(
      new ScriptedClient(),
      { observeWrite: () => undefined },
      { countReferences },
    )
    return (await preconditions.unmet(OWNER, [isNobodyElses(REF, own)], signal)) === undefined
  }

  it('an image is corrected only if nothing else refers to it', async () => {
    expect([await isWritten(), await isWritten('DataSync/farm/release'), await isWritten('Workspace/z')]).toEqual([
      true,
      false,
      false,
    ])
  })
})
