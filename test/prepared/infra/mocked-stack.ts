import { type Output, runtime } from '@pulumi/pulumi'

/** A resource as a program registered it. */
export interface Registered {
  readonly urn: string
  readonly type: string
  readonly name: string
  readonly isCustom: boolean
  readonly inputs: Readonly<Record<string, unknown>>
  /** The same as Pulumi gets it: what is encrypted in the state is in an object that says so. */
  readonly sent: unknown
  /** Fields that are encrypted in the state as a whole, where the cluster answers with them. */
  readonly secretOutputs: readonly string[]
  /** URN. */
  readonly parent: string
  /** Names that it may have had. */
  readonly aliases: readonly string[]
  /** URNs. */
  readonly dependsOn: readonly string[]
  readonly isProtected: boolean
  readonly isRetained: boolean
  readonly provider: string
}

export interface MockedStack {
  readonly registered: readonly Registered[]
  /** Kubernetes objects, without the providers. */
  readonly objects: readonly Registered[]
}

interface Request {
  getType(): string
  getName(): string
  getCustom(): boolean
  getObject(): { toJavaScript(): unknown } | undefined
  getAdditionalsecretoutputsList(): readonly string[]
  getParent(): string
  getDependenciesList(): readonly string[]
  getAliasesList(): readonly { getSpec(): { getName(): string } | undefined }[]
  getProtect(): boolean | undefined
  getRetainondelete(): boolean | undefined
  getProvider(): string
}

interface Response {
  getUrn(): string
}

type Callback = (error: Error | null, response: Response) => void

interface Monitor {
  registerResource(request: Request, callback: Callback): Promise<void>
}

export interface MockedEngine {
  /** Returns the uid of an applied object. By default there is none, as of a provider that applies nothing. */
  readonly uidOf?: (kind: string, name: string) => string | undefined
  readonly isPreview?: boolean
}

/** Runs a program against a mocked engine and returns what it registered. `run` loads or builds the program. */
export async function runMocked(
  run: () => Promise<unknown>,
  { uidOf = () => undefined, isPreview = false }: MockedEngine = {},
): Promise<MockedStack> {
  const inputsOf = new Map<string, Record<string, unknown>>()
  await runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, name, inputs, id }) => {
        // What a program reads is there.
        if (id) return { id, state: { metadata: { name: id, uid: `uid-of-${id}` } } }
        inputsOf.set(`${type} ${name}`, inputs as Record<string, unknown>)
        const { kind, metadata } = inputs as { kind?: string; metadata?: { name: string } }
        const uid = kind === undefined || metadata === undefined ? undefined : uidOf(kind, metadata.name)
        return { id: name, state: uid === undefined ? inputs : { ...inputs, metadata: { ...metadata, uid } } }
      },
    },
    'open-terrain',
    'test',
    isPreview,
  )
  const registered: Registered[] = []
  const monitor = runtime.getMonitor() as unknown as Monitor
  const register = monitor.registerResource.bind(monitor)
  monitor.registerResource = (request, callback) =>
    register(request, (error, response) => {
      if (error === null) registered.push(registeredOf(request, response, inputsOf))
      callback(error, response)
    })
  await run()
  await runtime.disconnect()
  return { registered, objects: registered.filter(({ type }) => type.startsWith('kubernetes:')) }
}

function registeredOf(
  request: Request,
  response: Response,
  inputsOf: ReadonlyMap<string, Record<string, unknown>>,
): Registered {
  const [type, name] = [request.getType(), request.getName()]
  return {
    urn: response.getUrn(),
    type,
    name,
    isCustom: request.getCustom(),
    inputs: inputsOf.get(`${type} ${name}`) ?? {},
    sent: request.getObject()?.toJavaScript(),
    secretOutputs: request.getAdditionalsecretoutputsList(),
    parent: request.getParent(),
    aliases: request.getAliasesList().flatMap((alias) => alias.getSpec()?.getName() ?? []),
    dependsOn: request.getDependenciesList(),
    isProtected: request.getProtect() === true,
    isRetained: request.getRetainondelete() === true,
    provider: request.getProvider(),
  }
}

export function settledValue<Value>(output: Output<Value>): Promise<unknown> {
  return new Promise((resolve) => output.apply(resolve))
}
