import {
  Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import plugin from '@pulumi/pulumi/proto/plugin_pb.js'
import services from '@pulumi/pulumi/proto/provider_grpc_pb.js'
import type * as wire from '@pulumi/pulumi/proto/provider_pb.js'
import proto from '@pulumi/pulumi/proto/provider_pb.js'
import rpc from '@pulumi/pulumi/proto/status_pb.js'
import any from 'google-protobuf/google/protobuf/any_pb.js'
import empty from 'google-protobuf/google/protobuf/empty_pb.js'
import struct, { type JavaScriptValue } from 'google-protobuf/google/protobuf/struct_pb.js'
import type { Manifest } from './api-server.ts'
import { NotReadyError, StandIn } from './provider.ts'

/** Version of the SDK that our programs use. The engine compares them. */
const VERSION = '4.34.2'

type State = Parameters<StandIn['diff']>[0]

/** What the engine told on one connection. It opens one for each provider of a program. */
class Session {
  readonly cancelled = new AbortController()
  #standIn: StandIn | undefined

  set standIn(standIn: StandIn) {
    this.#standIn = standIn
  }

  get standIn(): StandIn {
    if (this.#standIn === undefined) throw new Error('the engine has not configured the provider yet')
    return this.#standIn
  }
}

/**
 * The plugin `pulumi-resource-kubernetes` for rollout tests without the real one, in the process of the tests: engines attach to it, instead of
 * starting a process for each command. The SDK's own `main` does not pass on the configuration of a provider, so the service is written out here.
 */
export class StandInServer {
  readonly port: number
  readonly #server: Server
  readonly #sessions: Map<string, Session>

  private constructor(server: Server, sessions: Map<string, Session>, port: number) {
    this.#server = server
    this.#sessions = sessions
    this.port = port
  }

  /** @param kubeconfig path of the one for providers that name none, which is that of the user */
  static async start(kubeconfig: string): Promise<StandInServer> {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 })
    const sessions = new Map<string, Session>()
    server.addService(services.ResourceProviderService as never, serviceOf(sessions, kubeconfig))
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      )
    })
    return new StandInServer(server, sessions, port)
  }

  stop(): void {
    for (const { cancelled } of this.#sessions.values()) cancelled.abort(new Error('the tests have ended'))
    this.#server.forceShutdown()
  }
}

type Unary<Request> = { readonly request: Request; getPeer(): string }
type Callback = (error: Partial<ServiceError> | null, response?: unknown) => void

function serviceOf(sessions: Map<string, Session>, ownKubeconfig: string): UntypedServiceImplementation {
  /** Returns every error as the error of the call, because an engine without a response waits forever. */
  function answer<Request>(handle: (request: Request, session: Session) => Promise<unknown>) {
    return (call: Unary<Request>, callback: Callback) => {
      const session = sessions.get(call.getPeer())
      if (session === undefined) return callback(failed(new Error('the engine has not attached yet')))
      handle(call.request, session).then(
        (response) => callback(null, response),
        (error: Error) => callback(error instanceof NotReadyError ? notReady(error) : failed(error)),
      )
    }
  }
  return {
    getPluginInfo: answer(async () => {
      const response = new plugin.PluginInfo()
      response.setVersion(VERSION)
      return response
    }),
    attach: (call: Unary<unknown>, callback: Callback) => {
      sessions.set(call.getPeer(), new Session())
      callback(null, new empty.Empty())
    },
    cancel: answer(async (_, { cancelled }) => {
      cancelled.abort(new Error('the command was cancelled'))
      return new empty.Empty()
    }),
    getSchema: answer(async () => {
      const response = new proto.GetSchemaResponse()
      response.setSchema('{}')
      return response
    }),
    checkConfig: answer(async (request: wire.CheckRequest) => {
      const response = new proto.CheckResponse()
      response.setInputs(request.getNews())
      return response
    }),
    diffConfig: answer(async () => {
      const response = new proto.DiffResponse()
      response.setChanges(proto.DiffResponse.DiffChanges.DIFF_NONE)
      return response
    }),
    configure: answer(async (request: wire.ConfigureRequest, session) => {
      const variables = request.getVariablesMap()
      const setting = (name: string) => variables.get(`kubernetes:config:${name}`)
      const kubeconfig = setting('kubeconfig') || ownKubeconfig
      const context = setting('context')
      session.standIn = new StandIn({ kubeconfig, ...(context ? { context } : {}) }, session.cancelled.signal, {
        enableConfigMapMutable: setting('enableConfigMapMutable') === 'true',
        enableSecretMutable: setting('enableSecretMutable') === 'true',
        enablePatchForce: setting('enablePatchForce') === 'true',
        upsertExistingObjects: setting('upsertExistingObjects') === 'true',
      })
      const response = new proto.ConfigureResponse()
      response.setSupportspreview(true)
      return response
    }),
    check: answer(async (request: wire.CheckRequest, { standIn }) => {
      const inputs = plain(request.getNews())
      const reason = standIn.check(inputs as Manifest)
      const response = new proto.CheckResponse()
      response.setInputs(packed(inputs))
      if (reason !== undefined) {
        const failure = new proto.CheckFailure()
        failure.setReason(reason)
        response.setFailuresList([failure])
      }
      return response
    }),
    diff: answer(async (request: wire.DiffRequest, { standIn }) => {
      const { changes, replaces } = await standIn.diff(
        plain(request.getOlds()) as unknown as State,
        plain(request.getNews()) as Manifest,
      )
      const { DIFF_SOME, DIFF_NONE } = proto.DiffResponse.DiffChanges
      const response = new proto.DiffResponse()
      response.setChanges(changes ? DIFF_SOME : DIFF_NONE)
      response.setReplacesList([...replaces])
      // Names are fixed, so the old and the new object cannot exist at the same time.
      response.setDeletebeforereplace(replaces.length > 0)
      return response
    }),
    create: answer(async (request: wire.CreateRequest, { standIn }) => {
      const options = { preview: request.getPreview(), timeoutS: request.getTimeout() }
      const { id, state } = await standIn.create(plain(request.getProperties()) as Manifest, options)
      const response = new proto.CreateResponse()
      response.setId(options.preview ? '' : id)
      response.setProperties(packed(state))
      return response
    }),
    read: answer(async (request: wire.ReadRequest, { standIn }) => {
      const state = plain(request.getProperties())
      const known = '__inputs' in state ? state : { __inputs: named(request.getUrn(), request.getId()) }
      const found = await standIn.read(known as unknown as State)
      const response = new proto.ReadResponse()
      if (found === undefined) return response
      response.setId(request.getId())
      response.setProperties(packed(found.state))
      response.setInputs(packed(found.inputs))
      return response
    }),
    update: answer(async (request: wire.UpdateRequest, { standIn }) => {
      const options = { preview: request.getPreview(), timeoutS: request.getTimeout() }
      const state = plain(request.getOlds()) as unknown as State
      const response = new proto.UpdateResponse()
      response.setProperties(packed(await standIn.update(state, plain(request.getNews()) as Manifest, options)))
      return response
    }),
    delete: answer(async (request: wire.DeleteRequest, { standIn }) => {
      await standIn.delete(plain(request.getProperties()) as unknown as State, request.getTimeout())
      return new empty.Empty()
    }),
  }
}

function failed(error: Error): Partial<ServiceError> {
  return { code: status.UNKNOWN, details: error.message }
}

/** Converts the error to a form from which the engine learns that the object exists. */
function notReady(error: NotReadyError): Partial<ServiceError> {
  const detail = new proto.ErrorResourceInitFailed()
  detail.setId(error.id)
  detail.setProperties(packed(error.state))
  detail.setInputs(packed((error.state as State).__inputs))
  detail.setReasonsList([error.message])
  const details = new any.Any()
  details.pack(detail.serializeBinary(), 'pulumirpc.ErrorResourceInitFailed')
  const message = new rpc.Status()
  message.setCode(status.UNKNOWN)
  message.setMessage(error.message)
  message.addDetails(details)
  const metadata = new Metadata()
  metadata.add('grpc-status-details-bin', Buffer.from(message.serializeBinary()))
  return { code: status.UNKNOWN, details: error.message, metadata }
}

/** The object of an id, `<namespace>/<name>` or a name, that a program only reads. Its kind is in the URN. */
function named(urn: string, id: string): Manifest {
  const [type = ''] = (urn.split('::')[2] ?? '').split('$').slice(-1)
  const [, apiVersion = '', kind = ''] = type.split(':')
  const [name = '', namespace] = id.split('/').reverse()
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
  return { apiVersion: apiVersion.replace(/^core[/]/, ''), kind, metadata }
}

function plain(value: { toJavaScript(): Record<string, JavaScriptValue> } | undefined): object {
  return value?.toJavaScript() ?? {}
}

function packed(value: object): InstanceType<typeof struct.Struct> {
  return struct.Struct.fromJavaScript(JSON.parse(JSON.stringify(value)))
}
