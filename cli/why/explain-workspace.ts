import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  claimName,
  POLICY_DEFAULTS,
  POLICY_NAME,
  parsePolicy,
  virtualMachine,
  volumeClaimsIn,
  type WorkspaceComponent,
  type WorkspaceReason,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../operator/base/messages.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { explainMachine, type MachineObject, rootImageOf } from './explain-machine.ts'
import { notSeenLinks } from './explain-operator.ts'
import { isUnseen } from './reader.ts'
import {
  helpOf,
  neighbourLink,
  type OwnObject,
  ownLink,
  type StoryLink,
  type Subject,
  subjectFor,
  type Telling,
  unseenLink,
} from './story.ts'

export interface WorkspaceObject extends OwnObject {
  readonly status?: WorkspaceStatus
}

/** Components that are followed. The others are named. */
const FOLLOWED_MAX = 10
const NAMED_MAX = 5

/** Reasons of a component that waits for another one, which is a component too. */
const WAITS_FOR_OTHERS: ReadonlySet<string> = new Set<WorkspaceReason>(['WaitingForImages', 'Provisioning', 'Halting'])

/** Returns why a lab is as it is. */
export async function explainWorkspace(lab: WorkspaceObject, telling: Telling): Promise<StoryLink> {
  const own = ownLink(lab)
  if (own.isWell) return own
  const open = (lab.status?.components ?? []).filter(({ phase }) => phase !== 'Ready')
  // What has failed comes first: it does not go on by itself.
  const inOrder = [...open.filter(({ phase }) => phase === 'Failed'), ...open.filter(({ phase }) => phase !== 'Failed')]
  const causes = inOrder.filter(({ kind, reason }) => kind === 'Image' || !WAITS_FOR_OTHERS.has(reason))
  const followed = (causes.length > 0 ? causes : inOrder).slice(0, FOLLOWED_MAX)
  const rest = open.filter((one) => !followed.includes(one))
  const part = new LabParts(lab, telling)
  const links: StoryLink[] = []
  // One after another: an image that several wait for is told with the first of them.
  for (const component of followed) links.push(await part.link(component))
  const seen = await notSeenLinks(lab, telling)
  return { ...own, because: [...seen, ...links], ...(rest.length > 0 && { more: restText(rest, causes.length > 0) }) }
}

function restText(rest: readonly WorkspaceComponent[], areCausesKnown: boolean): string {
  const names = firstFew(
    rest.map(({ kind, name }) => `${kind} ${name}`),
    NAMED_MAX,
  )
  return areCausesKnown ? `not ready either, or waiting for these: ${names}` : `not ready either: ${names}`
}

class LabParts {
  readonly #lab: WorkspaceObject
  readonly #telling: Telling
  readonly #namespace: string

  constructor(lab: WorkspaceObject, telling: Telling) {
    this.#lab = lab
    this.#telling = telling
    this.#namespace = lab.status?.namespace ?? lab.metadata.name
  }

  async link(component: WorkspaceComponent): Promise<StoryLink> {
    const { kind, name } = component
    if (kind === 'Image') return await this.#image(component)
    if (kind === 'VirtualMachine') return await this.#machine(component)
    if (kind === 'ContainerCluster') return this.#own(component, await this.#pods(name))
    if (kind === 'Volume') return this.#own(component, await this.#claim(name))
    return this.#own(component)
  }

  /** A component is what the lab says of it. */
  #own({ kind, name, phase, reason, message }: WorkspaceComponent, because: readonly StoryLink[] = []): StoryLink {
    return {
      about: { kind, namespace: this.#namespace, name },
      isWell: false,
      ...{ phase, reason, message },
      help: helpOf('Workspace', reason),
      subject: this.#subject(),
      because,
    }
  }

  #subject(): Subject {
    return subjectFor(this.#lab)
  }

  async #image(component: WorkspaceComponent): Promise<StoryLink> {
    const namespace = await this.#imageNamespace(component.name)
    if (namespace === undefined) return this.#own(component)
    const image = await this.#telling.image({ namespace, name: component.name })
    // An image that nobody made is the lab's to explain.
    return image.phase === 'does not exist' || image.isWell
      ? { ...this.#own(component), because: image.unseen ? [image] : [] }
      : image
  }

  /** The policy says it. Who may not read that sees it in a machine. */
  async #imageNamespace(image: string): Promise<string | undefined> {
    const machines = await this.#machines()
    const of = isUnseen(machines) ? undefined : machines.map(rootImageOf).find(({ name }) => name === image)
    if (of !== undefined) return of.namespace
    const { reader, operatorNamespace: namespace } = this.#telling
    const policy = await reader.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(CONFIG_MAP, {
      namespace,
      name: POLICY_NAME,
    })
    if (isUnseen(policy)) return undefined
    return parsePolicy(policy?.data ?? {}, POLICY_DEFAULTS).policy.imageNamespace
  }

  #machines() {
    const labelSelector = `${LABELS.workspaceUid}=${this.#lab.metadata.uid}`
    return this.#telling.reader.list<MachineObject>(virtualMachine, { namespace: this.#namespace, labelSelector })
  }

  async #machine(component: WorkspaceComponent): Promise<StoryLink> {
    const machines = await this.#machines()
    if (isUnseen(machines)) {
      const about = {
        kind: virtualMachine.kind,
        group: virtualMachine.group,
        namespace: this.#namespace,
        name: component.name,
      }
      return this.#own(component, [unseenLink(about, machines.unseen)])
    }
    const machine = machines.find(({ metadata }) => metadata.name === component.name)
    if (machine === undefined) return this.#own(component)
    const link = await explainMachine(machine, this.#telling)
    // A machine that has become well since.
    return link.isWell ? this.#own(component) : { ...link, message: longer(link.message, component.message) }
  }

  async #pods(cluster: string): Promise<readonly StoryLink[]> {
    const { reader } = this.#telling
    const namespace = this.#namespace
    const labelSelector = `${LABELS.containerCluster}=${cluster}`
    const [pods, deployments] = await Promise.all([
      reader.list(POD, { namespace, labelSelector }),
      reader.list(DEPLOYMENT, { namespace, labelSelector }),
    ])
    if (isUnseen(pods)) return [unseenLink({ kind: POD.kind, namespace, name: `of ${cluster}` }, pods.unseen)]
    // What has no pod says why in its Deployment.
    if (pods.length === 0 && isUnseen(deployments)) {
      const { kind, group } = DEPLOYMENT
      return [unseenLink({ kind, group, namespace, name: `of ${cluster}` }, deployments.unseen)]
    }
    const parts = [...pods, ...(pods.length > 0 || isUnseen(deployments) ? [] : deployments)]
    return parts.map((part) => neighbourLink(part)).filter(({ isWell }) => !isWell)
  }

  /** Returns the name of the claim that a volume has now. */
  #claimOf(volume: string): string {
    const first = claimName(volume)
    return volumeClaimsIn(this.#lab.metadata.annotations?.[ANNOTATIONS.volumeClaims]).get(first)?.claim ?? first
  }

  async #claim(volume: string): Promise<readonly StoryLink[]> {
    const key = { namespace: this.#namespace, name: this.#claimOf(volume) }
    const claim = await this.#telling.reader.get(PERSISTENT_VOLUME_CLAIM, key)
    if (claim === undefined) return []
    if (isUnseen(claim)) return [unseenLink({ kind: PERSISTENT_VOLUME_CLAIM.kind, ...key }, claim.unseen)]
    return [neighbourLink(claim)].filter(({ isWell }) => !isWell)
  }
}

/** A lab adds to what a machine says, such as one command for all of its Secrets. */
function longer(one: string | undefined, other: string | undefined): string | undefined {
  return (other?.length ?? 0) > (one?.length ?? 0) ? other : one
}
