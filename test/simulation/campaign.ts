import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { isOfGate, nameOf, type Story, storyAt } from './story.ts'
import { added, mostOfOneKind, NOTHING_YET, type StoryResult, type Tally, tallyOf, wholeAdmissionsOf } from './tally.ts'

/** No schedule takes this long on any machine: one that does is hanging. */
const HANGS_AFTER_MS = 15 * 60_000
/** A kind with this share of the wanted admissions is skipped. Each worker starts at most one more schedule of it, to keep it below half. */
const MOST_OF_ONE_KIND = 0.4
/** Maximum share of one kind in the final admissions: above it, the campaign shows little about the other kinds. */
const MOST_IN_THE_END = 0.5
/** A process is replaced after this many schedules, so that what one leaves behind does not slow down the others. */
const STORIES_A_PROCESS = 500

export interface CampaignOptions {
  /** The first seed; each schedule has the next one. */
  readonly seed: number
  /** The campaign ends after this many admissions in schedules of the whole operator. */
  readonly admissions: number
  readonly workers: number
  /** Number of stories of the gate alone between two of the whole operator. */
  readonly gates: number
  /** Whether the first finding ends the campaign. */
  readonly isStoppedByFinding: boolean
  readonly onFinding: (finding: StoryResult) => void
  /** Called after each schedule. */
  readonly onProgress: (tally: Tally) => void
}

export interface CampaignResult {
  readonly tally: Tally
  readonly findings: readonly StoryResult[]
}

/** Returns a sentence if one kind of schedules dominates the tally: then one kind shows what many should show. */
export function onesidednessOf(tally: Tally): string | undefined {
  const most = mostOfOneKind(tally)
  if (most === undefined || most.share <= MOST_IN_THE_END) return undefined
  const share = `schedules of kind ${most.kind} had ${(100 * most.share).toFixed(1)} % of the admissions of the whole operator`
  return `${share}: at most half of them may come from one kind, so it takes more --admissions`
}

export function conclusionOf({ tally, findings }: CampaignResult): { isGood: boolean; sentences: string[] } {
  const onesidedness = onesidednessOf(tally)
  const broken =
    findings.length === 0 ? 'no invariant was broken' : `schedules that broke an invariant: ${findings.length}`
  return {
    isGood: findings.length === 0 && onesidedness === undefined,
    sentences: onesidedness === undefined ? [broken] : [broken, onesidedness],
  }
}

/** Runs schedules in child processes until enough images were admitted. */
export class Campaign {
  readonly #options: CampaignOptions
  readonly #findings: StoryResult[] = []
  #tally = NOTHING_YET
  #begun = 0

  constructor(options: CampaignOptions) {
    this.#options = options
  }

  async run(): Promise<CampaignResult> {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#work()))
    return { tally: this.#tally, findings: this.#findings }
  }

  get #isOver(): boolean {
    const { admissions, isStoppedByFinding } = this.#options
    return wholeAdmissionsOf(this.#tally) >= admissions || (isStoppedByFinding && this.#findings.length > 0)
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      using worker = new Worker()
      for (let stories = 0; stories < STORIES_A_PROCESS && worker.isAlive && !this.#isOver; stories += 1)
        this.#take(await worker.run(this.#nextStory()))
    }
  }

  /** Skips a kind that has had its share of admissions. */
  #nextStory(): Story {
    const { seed, gates, admissions } = this.#options
    for (;;) {
      this.#begun += 1
      const story = storyAt(this.#begun - 1, seed, gates)
      const had = this.#tally.admissions[story.kind] ?? 0
      if (isOfGate(story) || had < MOST_OF_ONE_KIND * admissions) return story
    }
  }

  #take(result: StoryResult): void {
    this.#tally = added(this.#tally, result.tally)
    if (result.violations.length > 0) {
      this.#findings.push(result)
      this.#options.onFinding(result)
    }
    this.#options.onProgress(this.#tally)
  }
}

/** A child process that runs stories, one at a time. */
class Worker implements Disposable {
  readonly #child: ChildProcess

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'campaign-process.ts'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  get isAlive(): boolean {
    return this.#child.connected && !this.#child.killed
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL')
  }

  /** A story that hangs, or ends its process, is a finding. */
  async run(story: Story): Promise<StoryResult> {
    const { promise, resolve } = Promise.withResolvers<StoryResult>()
    const broken = (what: string) => () => {
      const message = `${nameOf(story)} ${what}`
      resolve({ story, tally: tallyOf(story), violations: [{ invariant: 0, message, atMs: 0 }] })
    }
    const onExit = broken('took its process with it')
    const timer = setTimeout(() => {
      broken(`did not end within ${HANGS_AFTER_MS / 60_000} minutes`)()
      this[Symbol.dispose]()
    }, HANGS_AFTER_MS)
    this.#child.once('message', resolve as (message: unknown) => void).once('exit', onExit)
    this.#child.send(story, (error) => {
      if (error !== null) broken(`could not be sent to its process: ${error.message}`)()
    })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#child.off('exit', onExit).removeAllListeners('message')
    }
  }
}
