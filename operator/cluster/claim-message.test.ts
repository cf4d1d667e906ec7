import { describe, expect, it } from 'vitest'
import { claimMessageOf } from './claim-message.ts'

const PROVISIONER =
  "Waiting for a volume to be created either by the external provisioner 'csi' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
/** Another client wrote the claim first. Kubernetes retries immediately, but the Event remains the newest one for seconds. */
const CONFLICT =
  'Error saving claim: Operation cannot be fulfilled on persistentvolumeclaims "prime-1": the object has been modified; please apply your changes to the latest version and try again'

describe('claimMessageOf', () => {
  it.each([
    ['PVC x Pending', ''],
    ['PVC x Bound', ''],
    ['No PVC found', ''],
    [`target PVC x Pending and [prime-1] : ${PROVISIONER}`, ''],
    [`PVC x Pending and ${PROVISIONER}`, ''],
    ['target PVC x Pending and [prime-1] : Successfully provisioned volume pvc-1', ''],
    [`target PVC x Pending and [prime-1] : ${CONFLICT}`, ''],
    ['target PVC x Pending and storageclass.storage.k8s.io "n" not found', 'storageclass.storage.k8s.io "n" not found'],
    ['target PVC x Pending and [prime-1] : failed to provision volume: no room', 'failed to provision volume: no room'],
    ['the driver is busy', 'the driver is busy'],
  ])('makes of %s: %s', (message, expected) => {
    expect(claimMessageOf({ bound: { message } })).toBe(expected)
  })
})
