import { z } from 'zod'
import { type CelRule, celMatches } from '../schema/cel.ts'
import { imageReference } from './image-reference.ts'
import { placementFields } from './machine-placement.ts'
import { overridesField, POD_OVERRIDES_HELP } from './overrides.ts'
import { CONTAINER_DEVICES } from './policy-fields.ts'
import { parseMilliQuantity, QUANTITY_PATTERN } from './quantity.ts'
import {
  cel,
  DNS_SUBDOMAIN,
  dataKey,
  dnsLabel,
  listMap,
  matching,
  maybeFlag,
  maybeText,
  objectName,
  oneOf,
} from './shared.ts'
import { containerMemoryField } from './sizes.ts'
import { CPU_PATTERN, cpuField } from './virtual-machine-cpu.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import { aliasesField, dependsOnField, memberName } from './workspace-member-name.ts'
import { podInterfaces } from './workspace-networks.ts'
import { absolutePath, relativePath } from './workspace-volumes.ts'

/** As in the proposal: lower case, where Kubernetes uses upper case. */
const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const

/** A workspace may have thousands of variables: the rules for what they name have to stay cheap. */
const REF_MAX = 63
/** With all files of a cluster it fits into a ConfigMap, unless most of it is not ASCII. */
const CONTENT_MAX = 32_768
/** A script in one word is common. */
const WORD_MAX = 32_768
/** The kernel has 32 bits, and Kubernetes takes 31. */
const ID_MAX = 2 ** 31 - 1

const CAPABILITY = 'must be a capability of Linux in upper case without CAP_, such as NET_BIND_SERVICE, or ALL'

const capabilityNames = (description: string) =>
  z
    .array(
      cel(matching(z.string().min(1).max(32), '^[A-Z][A-Z_]*$', CAPABILITY), {
        rule: "!self.startsWith('CAP_')",
        message: CAPABILITY,
        holds: (name: string) => !name.startsWith('CAP_'),
      }).describe('One capability, such as NET_BIND_SERVICE.'),
    )
    .max(WORKSPACE_LIMITS.capabilities)
    .describe(description)
    .optional()

const capabilities = z
  .object({
    add: capabilityNames(
      'Capabilities to add to those of the runtime. The policy key allowedCapabilities must name each.',
    ),
    drop: capabilityNames('Capabilities to remove. ALL removes all that add does not name.'),
  })
  .describe('Linux capabilities of the container. Default: those of the runtime.')

const port = (description: string) => z.int().min(1).max(65535).describe(description)

/** As long as anything may take: a day. */
const seconds = (least: number, description: string) => z.int().min(least).max(86_400).describe(description).optional()

const volumeMount = z
  .object({
    name: z
      .string()
      .min(1)
      .max(63)
      .describe('Name of one of spec.volumes, or ansible: the inventory and the plays of the workspace.')
      .meta({ example: 'config' }),
    containerPath: absolutePath('containerPath').describe('Where the volume is in the container, such as /config.'),
    readOnly: maybeFlag('True: the container cannot write to it. Default: false; ansible is always read-only.'),
    subPath: relativePath('subPath')
      .describe('Folder or file of the volume that is there instead of all of it, such as db/data. Default: all.')
      .optional(),
  })
  .describe('One volume in a container.')

const portMapping = z
  .object({
    containerPort: port('Port that the container listens on.').meta({ example: 53 }),
    protocol: z.enum(PROTOCOLS).describe('tcp, udp or sctp. Default: tcp.').optional(),
    hostPort: port('Port of the node that leads to it, where the policy key allowHostPorts is true. Default: none.')
      .meta({ example: 53 })
      .optional(),
  })
  .describe('One port that may be reached from outside the workspace.')

/** What a container may know of itself: the same fields as in Kubernetes, without those of annotations and labels. */
const POD_FIELDS = ['metadata.name', 'metadata.namespace', 'spec.nodeName', 'status.hostIP', 'status.podIP'] as const

/** @param what the value of the key is @param instead what it is named instead of, if anything */
const keyOf = (kind: 'Secret' | 'ConfigMap', what: string, instead = '') =>
  z
    .object({
      name: dnsLabel()
        .describe(`Name of the ${kind}, in the namespace of the workspace.`)
        .meta({ example: 'settings' }),
      key: dataKey(kind, REF_MAX).describe(`Key whose value is ${what}.`).meta({ example: 'password' }),
    })
    .describe(`A key of a ${kind} in the namespace of the workspace${instead}.`)
    .optional()

const wholeObject = (kind: 'Secret' | 'ConfigMap') =>
  z
    .object({ name: z.string().min(1).max(REF_MAX).describe('Its name.').meta({ example: 'app' }) })
    .describe(`A ${kind} in the namespace.`)
    .optional()

/** Secrets and ConfigMaps of which all keys are taken, in the words of Kubernetes. */
const wholeObjects = { secretRef: wholeObject('Secret'), configMapRef: wholeObject('ConfigMap') }

interface MaybeNamed {
  readonly secretRef?: { readonly name: string } | undefined
  readonly configMapRef?: { readonly name: string } | undefined
}

const NAME_FORM = new RegExp(DNS_SUBDOMAIN)

/** One rule, because those of the names alone are larger in the CRD than all else of these words. @param among fields of which exactly one must be there */
function oneNamed<T extends MaybeNamed>(message: string, ...among: readonly (keyof T & string)[]): CelRule<T> {
  const name = "(has(self.secretRef) ? self.secretRef.name : has(self.configMapRef) ? self.configMapRef.name : 'a')"
  return {
    rule: `[${among.map((field) => `has(self.${field})`).join(', ')}].filter(one, one).size() == 1 && ${celMatches(name, DNS_SUBDOMAIN)}`,
    message,
    holds: (value) => {
      const isOne = among.filter((field) => value[field] !== undefined).length === 1
      return isOne && NAME_FORM.test((value.secretRef ?? value.configMapRef)?.name ?? 'a')
    },
  }
}

const envSourceFields = z.object({
  ...wholeObjects,
  prefix: matching(
    z.string().min(1).max(63),
    '^[-._a-zA-Z][-._a-zA-Z0-9]*$',
    'must begin the name of a variable, such as DB_',
  )
    .describe('Text before each key. Default: none.')
    .meta({ example: 'DB_' })
    .optional(),
})

const envSource = cel(
  envSourceFields,
  oneNamed('must have either secretRef or configMapRef, with the name of an object', 'secretRef', 'configMapRef'),
).describe('One Secret or ConfigMap.')

const VALUE = 'the value of the variable'

const valueFromFields = z.object({
  secretKeyRef: keyOf('Secret', VALUE),
  configMapKeyRef: keyOf('ConfigMap', VALUE),
  fieldRef: z
    .object({ fieldPath: z.enum(POD_FIELDS).describe(`One of ${POD_FIELDS.join(', ')}.`) })
    .describe('A field of the pod.')
    .optional(),
})

const valueFrom = oneOf(
  valueFromFields,
  ['secretKeyRef', 'configMapKeyRef', 'fieldRef'],
  'valueFrom must have exactly one of secretKeyRef, configMapKeyRef and fieldRef',
).describe('Where the value comes from, instead of value.')

const envFields = z.object({
  name: matching(
    z.string().min(1).max(128),
    '^[-._a-zA-Z][-._a-zA-Z0-9]*$',
    'must be the name of an environment variable: letters, digits, "_", "-" and ".", with no digit first',
  )
    .describe('Name of the variable.')
    .meta({ example: 'LOG_LEVEL' }),
  value: maybeText(4096, 'Its value: a text, so quote numbers, true and false. Default: the empty text.').meta({
    example: 'debug',
  }),
  valueFrom: valueFrom.optional(),
})

const env = cel(envFields, {
  rule: '!has(self.value) || !has(self.valueFrom)',
  message: 'valueFrom must be left out where value is set, and the other way round',
  field: 'valueFrom',
  holds: ({ value, valueFrom: from }: z.output<typeof envFields>) => value === undefined || from === undefined,
}).describe('One environment variable.')

const fileFields = z.object({
  path: absolutePath('path').describe(
    'Where the file is in the container, such as /etc/app/app.conf. A folder where all keys are files.',
  ),
  content: maybeText(CONTENT_MAX, 'What is in the file. Everyone who may read the workspace can read it.').meta({
    example: 'listen 53\n',
  }),
  secretKeyRef: keyOf('Secret', 'the content of the file', ', instead of content'),
  ...wholeObjects,
  mode: matching(z.string().min(3).max(4), '^0?[0-7]{3}$', "mode must be three octal digits in quotes, such as '0644'")
    .describe("Permissions of the file, in quotes, such as '0755'. Default: '0644'.")
    .optional(),
})

const file = cel(
  fileFields,
  oneNamed(
    'a file must have either content, secretKeyRef, or the name of an object in secretRef or configMapRef',
    ...(['content', 'secretKeyRef', 'secretRef', 'configMapRef'] as const),
  ),
).describe('One file, or folder, in a container.')

const probeFields = z.object({
  exec: z
    .object({
      command: z
        .array(z.string().max(WORD_MAX).describe('One word.').meta({ example: 'healthy' }))
        .min(1)
        .max(WORKSPACE_LIMITS.words)
        .describe('Program and arguments. Exit code 0 is success.'),
    })
    .describe('A program in the container.')
    .optional(),
  httpGet: z
    .object({
      path: maybeText(512, 'Path and query, such as /healthz. Default: /.'),
      port: port('Port of the container, on the pod network.').meta({ example: 8080 }),
      scheme: z
        .enum(['HTTP', 'HTTPS'])
        .describe('HTTP or HTTPS, whose certificate is not checked. Default: HTTP.')
        .optional(),
    })
    .describe('A request that is answered with a status from 200 to 399.')
    .optional(),
  tcpSocket: z
    .object({ port: port('Port of the container, on the pod network.').meta({ example: 8080 }) })
    .describe('A port that takes connections.')
    .optional(),
  initialDelaySeconds: seconds(0, 'Seconds from the start of the container to the first try. Default: 0.').meta({
    example: 5,
  }),
  periodSeconds: seconds(1, 'Seconds between two tries. Default: 10.').meta({ example: 30 }),
  timeoutSeconds: seconds(1, 'Seconds that one try may take. Default: 1.').meta({ example: 5 }),
  failureThreshold: seconds(1, 'Failed tries in a row that count as a failure. Default: 3.').meta({ example: 5 }),
})

const probe = (description: string) =>
  oneOf(probeFields, ['exec', 'httpGet', 'tcpSocket'], 'a probe must have exactly one of exec, httpGet and tcpSocket')
    .describe(description)
    .optional()

const words = (description: string) =>
  z
    .array(
      z
        .string()
        .max(WORD_MAX)
        .describe('One word. $(NAME) is replaced by the value of the variable NAME.')
        .meta({ example: '--verbose' }),
    )
    .max(WORKSPACE_LIMITS.words)
    .describe(description)
    .optional()

const id = (description: string) => z.int().min(0).max(ID_MAX).describe(description).optional()

const resourceFields = z.object({
  cpu: cpuField("CPUs that are reserved, at most 512, such as 128m, 2 or '1.5' (in quotes).").optional(),
  memory: containerMemoryField(
    'Memory that is reserved, such as 256Mi, and most that the container may use, unless limits.memory is set.',
  ).optional(),
  limits: z
    .object({
      cpu: cpuField('Most CPUs that it may use, such as 2 or 500m. Default: as many as are free.').optional(),
      memory: containerMemoryField(
        'Most memory that it may use, such as 1Gi. A container that uses more is ended. Default: memory.',
      ).optional(),
    })
    .describe('Most that the container may use. Where nothing is reserved, Kubernetes reserves as much.')
    .optional(),
})

const FORMS = { cpu: CPU_PATTERN, memory: QUANTITY_PATTERN } as const

/** The API server refuses a pod that reserves more than it may use. What is no quantity is refused elsewhere. */
const withinLimits = (['cpu', 'memory'] as const).map((name): CelRule<z.output<typeof resourceFields>> => {
  const fields = [`self.${name}`, `self.limits.${name}`] as const
  const [own, limit] = fields.map((one) => `string(${one})`) as [string, string]
  const isAmount = (text: string) => `${celMatches(text, FORMS[name])} && isQuantity(${text})`
  return {
    rule:
      `!has(self.limits) || !${fields.map((one) => `has(${one})`).join(' || !')} || !(${isAmount(own)}) || !(${isAmount(limit)}) || ` +
      `quantity(${own}).compareTo(quantity(${limit})) <= 0`,
    message: `limits.${name} must not be less than ${name}, which is reserved`,
    field: 'limits',
    holds: ({ limits, ...reserved }) => {
      const form = new RegExp(FORMS[name])
      const amounts = [reserved[name], limits?.[name]].map((one) =>
        one !== undefined && form.test(one) ? parseMilliQuantity(one) : undefined,
      )
      const [least, most] = amounts
      return least === undefined || most === undefined || least <= most
    },
  }
})

const resources = cel(resourceFields, ...withinLimits).describe(
  'What the container needs. Default: nothing in particular.',
)

const program = {
  name: dnsLabel().describe('Name of the container.').meta({ example: 'bind' }),
  image: imageReference('Container image, such as ghcr.io/demo/demo-containers/demo-app:1.0.2.'),
  resources: resources.optional(),
  command: words('Program to run, instead of the entrypoint of the image. Default: that of the image.'),
  args: words('Its arguments. Default: those of the image, unless command is set.'),
  workingDir: matching(z.string().min(1).max(256), '^/', 'workingDir must be an absolute path such as /app')
    .describe('Directory in which the program starts. Default: that of the image.')
    .meta({ example: '/app' })
    .optional(),
  runAsUser: id('User id of the program. Default: that of the image.').meta({ example: 1000 }),
  runAsGroup: id('Group id of the program. Default: that of the user.').meta({ example: 1000 }),
}

const surroundings = {
  privileged: maybeFlag(
    'True: the container has all rights and devices of its node. The policy key allowPrivileged must be true. Default: false.',
  ),
  capabilities: capabilities.optional(),
  env: listMap(
    z.array(env).max(WORKSPACE_LIMITS.env),
    'name',
    'Environment variables. Everyone who may read the workspace can read each value: take passwords from a Secret with valueFrom.',
  ).optional(),
  envFrom: z
    .array(envSource)
    .max(WORKSPACE_LIMITS.envFrom)
    .describe('Objects whose keys are variables, too. The last of a name counts, and env before all. Default: none.')
    .optional(),
  volumeMounts: listMap(
    z.array(volumeMount).max(WORKSPACE_LIMITS.volumeMounts),
    'containerPath',
    'Volumes in the container.',
  ).optional(),
  files: listMap(
    z.array(file).max(WORKSPACE_LIMITS.files),
    'path',
    'Files that are written into the container, read-only. A change replaces the pod. Default: none.',
  ).optional(),
}

const initContainer = z
  .object({ ...program, ...surroundings })
  .describe('One container that runs to its end before the containers of the cluster start.')

const container = z
  .object({
    ...program,
    devices: z
      .array(z.enum(CONTAINER_DEVICES).describe('tun is /dev/net/tun.'))
      .max(CONTAINER_DEVICES.length)
      .describe('Devices of the node. The policy key allowedDevices must name each. Default: none.')
      .optional(),
    stdin: maybeFlag('True: the program has an input, so that kubectl attach -i can write to it. Default: false.'),
    tty: maybeFlag(
      'True: the program has a terminal, as a shell needs it: kubectl attach -it. Needs stdin. Default: false.',
    ),
    startupProbe: probe('Until it succeeds, the other probes wait, and its failure restarts the container.'),
    readinessProbe: probe(
      'While it fails, the container cluster is not Ready. Default: the container is ready as soon as it runs.',
    ),
    livenessProbe: probe('Its failure restarts the container.'),
    ...surroundings,
    portMappings: z
      .array(portMapping)
      .max(WORKSPACE_LIMITS.portMappings)
      .describe('Ports that may be reached from outside the workspace. Default: none.')
      .optional(),
  })
  .describe('One container.')

const containerClusterFields = z.object({
  name: memberName().describe('Name of the cluster: of its Deployment, and its host name.').meta({ example: 'dns' }),
  hostname: dnsLabel().describe('Host name of its containers. Default: name.').meta({ example: 'ns1' }).optional(),
  aliases: aliasesField,
  ignoreOnDeploy: maybeFlag('True: its containers are not created; what exists stays. Default: false.'),
  dependsOn: dependsOnField,
  pullSecrets: z
    .array(objectName().describe('Name of one Secret.').meta({ example: 'registry-login' }))
    .max(WORKSPACE_LIMITS.pullSecrets)
    .describe(
      'Secrets of type kubernetes.io/dockerconfigjson, in the namespace of the workspace, with the logins for private images. Default: none.',
    )
    .optional(),
  ...placementFields('pod'),
  fsGroup: id('Group id that can write to the volumes. Default: they belong to root.').meta({ example: 1000 }),
  interfaces: podInterfaces.optional(),
  initContainers: listMap(
    z.array(initContainer).max(WORKSPACE_LIMITS.initContainers),
    'name',
    'Containers that run one after the other, each to its end, before the others start: each time that the pod starts. They have its interfaces, volumes and files too. Default: none.',
  ).optional(),
  containers: listMap(
    z.array(container).min(1).max(WORKSPACE_LIMITS.containers),
    'name',
    'Containers of the cluster: one pod.',
  ),
  overrides: overridesField(POD_OVERRIDES_HELP),
})

const containerCluster = cel(containerClusterFields, {
  rule: '!has(self.initContainers) || !self.initContainers.exists(first, self.containers.exists(one, one.name == first.name))',
  message: 'an init container must not have the name of another container of its cluster: call one of them otherwise',
  field: 'initContainers',
  holds: ({ initContainers = [], containers }: z.output<typeof containerClusterFields>) =>
    !initContainers.some(({ name }) => containers.some((one) => one.name === name)),
}).describe('Containers that share one host name and its interfaces.')

export const containerClusters = listMap(
  z.array(containerCluster).max(WORKSPACE_LIMITS.containerClusters),
  'name',
  'Container clusters of the workspace.',
)
