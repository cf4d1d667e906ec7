import type { CommandEntry } from './command-line.ts'

/** All commands, in the order of `ot --help`. Each has a file of its own in `cli/commands`, which this list alone names. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    usage: 'labs [name...]',
    description: 'labs at a glance: all, those that are named, or those of a class',
    load: async () => (await import('./commands/labs.ts')).defineLabs,
  },
  {
    usage: 'queue',
    description:
      'the queue of downloads: who has the slots, who waits for one in which place, who waits for something else, and what for',
    load: async () => (await import('./commands/queue.ts')).defineQueue,
  },
  {
    usage: 'why <object> [name]',
    description:
      'why something is as it is: the chain from a lab, machine, image, DataSync or snapshot to its causes, and what to do about them',
    load: async () => (await import('./commands/why.ts')).defineWhy,
  },
  {
    usage: 'tree <lab>',
    description:
      'the objects of a lab as a tree, down to pods and claims, each with its state, and the images that it names',
    load: async () => (await import('./commands/tree.ts')).defineTree,
  },
  {
    usage: 'stop [name...]',
    description: 'switches labs off: guests and containers are shut down; disks, volumes and addresses stay',
    load: async () => (await import('./commands/power.ts')).defineStop,
  },
  {
    usage: 'start [name...]',
    description: 'switches labs on again',
    load: async () => (await import('./commands/power.ts')).defineStart,
  },
  {
    usage: 'rebuild [name...]',
    description: 'makes the disks of machines again that are lost, or of an earlier spec; what is on them is lost',
    load: async () => (await import('./commands/renew.ts')).defineRebuild,
  },
  {
    usage: 'reset [name...]',
    description: 'sets machines back to their images: all disks are made again; what is on them is lost',
    load: async () => (await import('./commands/renew.ts')).defineReset,
  },
  {
    usage: 'restore <lab> <point>',
    description:
      'puts the machines and volumes of a lab that is off back to a WorkspaceSnapshot; what was written to them since is not used any more',
    load: async () => (await import('./commands/restore.ts')).defineRestore,
  },
  {
    usage: 'snapshot [lab-and-name...]',
    description: 'takes a point in time of a lab, or of each lab of a class: a WorkspaceSnapshot of that name',
    load: async () => (await import('./commands/snapshot.ts')).defineSnapshot,
  },
  {
    usage: 'extend [name...]',
    description: 'gives labs a later end; one that has ended is switched on by that',
    load: async () => (await import('./commands/extend.ts')).defineExtend,
  },
  {
    usage: 'draw [name]',
    description: 'a picture of a lab: its networks, members, addresses and ports',
    load: async () => (await import('./commands/draw.ts')).defineDraw,
  },
  {
    usage: 'retry [object...]',
    description: 'tries again what has failed: downloads of an image or a DataSync, roles of a lab',
    load: async () => (await import('./commands/ask.ts')).defineRetry,
  },
  {
    usage: 'refresh [object...]',
    description: 'downloads the source of images again, or of all images of a DataSync',
    load: async () => (await import('./commands/ask.ts')).defineRefresh,
  },
  {
    usage: 'suspend [object...]',
    description: 'holds images back: no download starts, and a running one stops',
    load: async () => (await import('./commands/ask.ts')).defineSuspend,
  },
  {
    usage: 'resume [object...]',
    description: 'lets images that were suspended go on',
    load: async () => (await import('./commands/ask.ts')).defineResume,
  },
  {
    usage: 'adopt [name...]',
    description:
      'what an older operator or people have synced becomes images without a download: shows how, and does it if somebody says so',
    load: async () => (await import('./commands/adopt.ts')).defineAdopt,
  },
  {
    usage: 'plan',
    description: 'the objects that would result from a file of manifests; with --diff what would change in a cluster',
    load: async () => (await import('./commands/plan.ts')).definePlan,
  },
  {
    usage: 'ui',
    description: 'a page for the browser: queue, labs, and what an object says of itself; on this machine alone',
    load: async () => (await import('./commands/ui.ts')).defineUi,
  },
  {
    usage: 'prune',
    description:
      'shows what the policy ends: images that the operator deletes, and labs that it switches off, and when',
    load: async () => (await import('./commands/prune.ts')).definePrune,
  },
  {
    usage: 'bundle',
    description: 'writes what a bug report needs into one file, without secrets',
    load: async () => (await import('./commands/bundle.ts')).defineBundle,
  },
  {
    usage: 'completion <shell>',
    description: 'prints a script that completes command lines: for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).defineCompletion,
  },
]
