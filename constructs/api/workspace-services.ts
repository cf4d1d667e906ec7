import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { searchRule } from '../schema/cel-search.ts'
import { SERVICE_TYPES } from './policy-fields.ts'
import { repeatedIn } from './repeated-texts.ts'
import { cel, dnsLabel, listMap, matching } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'

export const SERVICE_PROTOCOLS = ['TCP', 'UDP'] as const
export type ServiceProtocol = (typeof SERVICE_PROTOCOLS)[number]

/** The form of the names that ports without one get. */
const GIVEN_NAME = '^(tcp|udp)-[0-9]+$'

interface PortWords {
  readonly name?: string | undefined
  readonly port: number
  readonly protocol?: ServiceProtocol | undefined
}

/** Returns the name that a port has in its Service. */
export function servicePortName({ name, port, protocol = 'TCP' }: PortWords): string {
  return name ?? `${protocol.toLowerCase()}-${port}`
}

const portNumber = () => z.int().min(1).max(65_535)

const port = z
  .object({
    name: cel(dnsLabel(), {
      rule: `!${celMatches('self', GIVEN_NAME)}`,
      message: 'name must not be such as tcp-80 or udp-53: these are the names of ports without one',
      holds: (name: string) => !new RegExp(GIVEN_NAME).test(name),
    })
      .describe('Name of the port, for programs that look it up. Default: such as tcp-80.')
      .optional(),
    port: portNumber().describe('Port of the Service, from 1 to 65535.').meta({ example: 80 }),
    targetPort: portNumber()
      .describe('Port that the member listens on, from 1 to 65535. Default: that of port.')
      .meta({ example: 8080 })
      .optional(),
    protocol: z.enum(SERVICE_PROTOCOLS).describe('TCP or UDP. Default: TCP.').optional(),
  })
  .describe('One port.')

const celProtocol = (item: string) => `(has(${item}.protocol) ? ${item}.protocol : 'TCP')`

const portsUnique = searchRule<readonly PortWords[]>({
  message: 'every port must be given once for each protocol',
  among: [
    {
      item: 'one',
      list: 'self',
      says: 'port {string(one.port)} is given more than once: give it once for each protocol',
    },
  ],
  isWrong: `!self.exists_one(other, other.port == one.port && ${celProtocol('other')} == ${celProtocol('one')})`,
  finds: (list) =>
    repeatedIn(list.map(({ port: number, protocol = 'TCP' }) => `${number}/${protocol}`)).map((one) => ({
      at: [],
      values: one.split('/', 1),
    })),
})

const portNamesUnique = searchRule<readonly PortWords[]>({
  message: 'ports must each have a name of their own',
  among: [
    {
      item: 'one',
      list: 'self',
      says: 'ports must each have a name of their own: "{one.name}" is given more than once',
    },
  ],
  isWrong: 'has(one.name) && !self.exists_one(other, has(other.name) && other.name == one.name)',
  finds: (list) => repeatedIn(list.flatMap(({ name }) => name ?? [])).map((one) => ({ at: [], values: [one] })),
})

const service = z
  .object({
    name: matching(
      z.string().min(1).max(63),
      '^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$',
      'must be lower-case letters, digits and "-", at most 63, with a letter first and a letter or digit last',
    )
      .describe('Name of the Service, by which pods of the cluster reach it: <name>.<workspace>.svc.')
      .meta({ example: 'web' }),
    member: dnsLabel()
      .describe(
        'Name of the machine or the container cluster that answers. A machine must be on the pod network, as it is without interfaces.',
      )
      .meta({ example: 'kali' }),
    ports: cel(
      z
        .array(port)
        .min(1)
        .max(WORKSPACE_LIMITS.servicePorts)
        .describe('Ports of the Service. Only these are opened, and only to this member.'),
      portsUnique,
      portNamesUnique,
    ),
    type: z
      .enum(SERVICE_TYPES)
      .describe(
        'Who reaches it. ClusterIP: pods of the cluster. NodePort: everybody who reaches a node, at a port that Kubernetes chooses. LoadBalancer: everybody ' +
          'who reaches the address of a load balancer of the cluster. The policy key allowedServiceTypes must name it. Default: ClusterIP.',
      )
      .optional(),
  })
  .describe('One Service.')

export const services = listMap(
  z.array(service).max(WORKSPACE_LIMITS.services),
  'name',
  'Ports of members that are reached from outside of the workspace, over the pod network. Default: none.',
)
