import { z } from 'zod'
import type { CelRule } from '../schema/cel.ts'
import { celHasAddress, type InterfaceWords, isOnPodNetwork, POD_NETWORK_NAME } from './interface-words.ts'
import { cel, maybeFlag } from './shared.ts'

const readinessFields = z.object({
  guestAgent: maybeFlag('True: the QEMU guest agent answers. It has to be in the image.'),
  tcpPort: z
    .int()
    .min(1)
    .max(65_535)
    .describe(
      'Port on which the guest takes TCP connections on the pod network, such as 22. With interfaces, one of them has to be network: pod.',
    )
    .optional(),
  cloudInit: maybeFlag(
    'True: cloud-init has done all its work without an error, as cloud-init status says in the guest. The guest agent has to be in the image, and allowed to run programs.',
  ),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .describe(
      'Seconds that the guest has until it answers, from its start or from when it last did. Then the machine is Failed until it answers; it is not restarted. Default: the policy key vmProvisionTimeout.',
    )
    .meta({ example: 600 })
    .optional(),
})

export type Readiness = z.output<typeof readinessFields>

const MESSAGE = 'readiness must have exactly one of guestAgent: true, tcpPort and cloudInit: true'

/** When the guest is ready for use. The field is the same for a machine and for one of a workspace. */
export const readinessField = cel(readinessFields, {
  rule: '[has(self.guestAgent) && self.guestAgent, has(self.tcpPort), has(self.cloudInit) && self.cloudInit].filter(one, one).size() == 1',
  message: MESSAGE,
  holds: ({ guestAgent, tcpPort, cloudInit }: Readiness) =>
    [guestAgent === true, tcpPort !== undefined, cloudInit === true].filter(Boolean).length === 1,
})
  .describe(
    'How the guest shows that it is ready for use: the machine is Ready only while it does. A change takes effect at the next start. Default: the machine is Ready as soon as it runs.',
  )
  .optional()

/** KubeVirt refuses such a machine, too. */
export const readinessRule: CelRule<{
  readonly readiness?: Readiness
  readonly interfaces?: readonly InterfaceWords[]
}> = {
  rule:
    '!has(self.readiness) || !has(self.readiness.tcpPort) || !has(self.interfaces) || self.interfaces.size() == 0 || ' +
    `self.interfaces.exists(nic, nic.network == '${POD_NETWORK_NAME}' && !${celHasAddress('nic')})`,
  message:
    'tcpPort needs the pod network, and none of the interfaces is on it: add one with network: pod, or use guestAgent or cloudInit',
  field: 'readiness',
  holds: ({ readiness, interfaces = [] }) =>
    readiness?.tcpPort === undefined || interfaces.length === 0 || interfaces.some(isOnPodNetwork),
}
