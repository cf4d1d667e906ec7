/** What a reason of a condition, an attempt or an Event means, and what a person can do about it. */
export interface ReasonHelp {
  readonly meaning: string
  /** Begins with "No action needed" where nobody has to act. */
  readonly remedy: string
  /** The remedy is for those who want something else: nobody has to follow it. */
  readonly isOffer?: true
}

/** Returns the reasons that nobody has to act on: it goes on by itself, or is as somebody wanted it. Any other reason is an alert. */
export function quietReasons(help: Readonly<Record<string, ReasonHelp>>): readonly string[] {
  return Object.entries(help)
    .filter(([, { remedy, isOffer }]) => remedy.startsWith('No action needed') || isOffer === true)
    .map(([reason]) => reason)
}

/** Returns an object that maps each reason to its own name. */
export function namesIn<Help extends object>(help: Help): { readonly [R in keyof Help]: R } {
  return Object.fromEntries(Object.keys(help).map((reason) => [reason, reason])) as { readonly [R in keyof Help]: R }
}

export const NOTHING = 'No action needed: it continues by itself.'

/** The API server refused a write. @param what name of the kind in prose */
export function refusedHelp(what: string): ReasonHelp {
  return {
    meaning: `The API server refuses something that the ${what} needs; the message is its answer.`,
    remedy:
      'Read the message: a missing right of the operator, a quota or an admission rule is the cause. The operator tries again by itself.',
  }
}

/** A bug in the operator. @param what name of the kind in prose */
export function internalErrorHelp(what: string): ReasonHelp {
  return {
    meaning: `An internal error occurred while the operator processed this ${what}. Other objects are not affected.`,
    remedy: 'Report it with the message and the log of the operator. The operator tries again by itself.',
  }
}

/** A neighbour of the operator does not work. @param what name of the kind in prose */
export function notRespondingHelp(neighbour: 'CDI' | 'KubeVirt', what: string): ReasonHelp {
  const [controller, webhooks] =
    neighbour === 'CDI' ? ['cdi-deployment', 'cdi-apiserver'] : ['virt-controller', 'virt-api']
  return {
    meaning: `${neighbour} does not respond: its controller does not renew its Lease, or its webhooks cannot be called; the message says which. What it reported last may not be true any more, so no time limit runs and nothing is restarted or deleted because of it.`,
    remedy: `Check that the Deployments ${controller} and ${webhooks} run. The ${what} continues by itself when ${neighbour} is back.`,
  }
}
