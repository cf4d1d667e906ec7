import { cutTo } from '../../../base/messages.ts'

/** Longest sentence that `playReportOf` returns, in characters. */
export const PLAY_REPORT_MAX = 400

/** What the plugin `report.py` writes. */
interface PlayFailure {
  readonly what: 'failed' | 'unreachable'
  readonly task: string
  readonly host: string
  readonly message?: string | undefined
}

/** The end of a log, in which the latest line of Ansible about a failure is `line`. */
interface LogEnd {
  readonly lines: readonly string[]
  readonly line: number
}

/**
 * Says in one sentence why a play ended with this exit code. The message is what Kubernetes keeps of the container: the line of the plugin
 * `report.py`, or the end of the log, or whatever the runtime of the container says. Takes any text, and never throws. Removes no secret values.
 */
export function playReportOf(message: string, exitCode: number): string {
  const failure = writtenBy(message)
  if (failure !== undefined) return sentenceOf(failure)
  const lines = message.split(/\r?\n|\r/).map(plain)
  const sentence = imageProblem(message) ?? fromLog(lines)
  if (sentence !== undefined) return sentence
  const last = beforeRecap(lines).findLast((line) => line !== '')
  return cutTo(
    PLAY_REPORT_MAX,
    `ansible-playbook ended with exit code ${exitCode}${last === undefined ? '' : `: ${last}`}`,
  )
}

/** Returns the failure that the plugin wrote, or undefined if this text is not from it. */
function writtenBy(message: string): PlayFailure | undefined {
  let written: unknown
  try {
    written = JSON.parse(message)
  } catch {
    return undefined
  }
  if (typeof written !== 'object' || written === null) return undefined
  const { what, task, host, message: said } = written as Readonly<Record<string, unknown>>
  if ((what !== 'failed' && what !== 'unreachable') || typeof task !== 'string' || typeof host !== 'string')
    return undefined
  return { what, task, host, message: typeof said === 'string' ? said : undefined }
}

const ENDS = { failed: 'failed on', unreachable: 'did not reach' } as const

function sentenceOf({ what, task, host, message = '' }: PlayFailure): string {
  const start = `task "${cutTo(NAME_MAX, plain(task))}" ${ENDS[what]} ${cutTo(NAME_MAX, plain(host))}`
  return cutTo(PLAY_REPORT_MAX, `${start}: ${plain(message) || 'it says nothing more (no_log hides what a task says)'}`)
}

/** Leaves room for what is said of it. */
const NAME_MAX = 100

/** The runtime of the container found no such program in the image. */
const NO_PROGRAM = /exec: "?([^\s":]{1,100})"?: (?:executable file not found|stat .{0,200}no such file)/

function imageProblem(message: string): string | undefined {
  const [, program] = NO_PROGRAM.exec(message) ?? []
  return program === undefined ? undefined : `the image has no program ${plain(program)}`
}

const TASK = /^(?:TASK|RUNNING HANDLER) \[(.*)\](?: \*+)?$/
/** A task, or an item of a loop. */
const FATAL = /^(?:fatal: \[([^\]]*)\][^!]{0,100}(FAILED|UNREACHABLE)!|failed: \[([^\]]*)\] \()/
const IGNORED = /^\.\.\.ignoring/
const ERROR = /^(?:ERROR[!:]|\[ERROR\]:) */
/** Where an error is, in the words of Ansible until 2.18, and since. */
const ORIGIN = /^(?:The error appears to be in '([^']+)': line (\d+)|Origin: (.+):(\d+):\d+$)/
/** What comes after the text of an error. */
const AFTER_ERROR = /^(?:The error appears|Origin:|The offending line|The above|Use --|PLAY |TASK |fatal: |usage: )/

function fromLog(lines: readonly string[]): string | undefined {
  const fatal = lines.findLastIndex((line, at) => FATAL.test(line) && !isIgnored(lines, at))
  // Newer versions say an error before the line of the task that it ends, and again after it. One after the line of an ignored failure is of something else.
  const error = lines.findLastIndex((line) => ERROR.test(line))
  if (error > fatal && !lines.slice(error).some((line) => FATAL.test(line))) return ofError({ lines, line: error })
  return fatal < 0 ? undefined : ofFatal({ lines, line: fatal })
}

function isIgnored(lines: readonly string[], at: number): boolean {
  const rest = lines.slice(at + 1)
  const next = rest.findIndex((line) => TASK.test(line))
  return rest.slice(0, next < 0 ? undefined : next).some((line) => IGNORED.test(line))
}

function ofFatal({ lines, line }: LogEnd): string {
  const text = lines[line] ?? ''
  const [, whole, end, ofLoop] = FATAL.exec(text) ?? []
  const host = whole ?? ofLoop ?? ''
  const task = lines.slice(0, line).findLast((one) => TASK.test(one))
  const [, name = 'of unknown name'] = TASK.exec(task ?? '') ?? []
  const what = end === 'UNREACHABLE' ? 'unreachable' : 'failed'
  return sentenceOf({ what, task: name, host, message: saidIn([text, ...lines.slice(line + 1)].join(' ')) })
}

/** What the JSON that follows says, which may have lost its end. */
function saidIn(json: string): string {
  return [/"msg": ("(?:[^"\\]|\\.)*")/, /"stderr": ("(?:[^"\\]|\\.)*")/]
    .map((member) => textOf(member.exec(json)?.[1] ?? '""'))
    .filter((text) => text !== '')
    .join(': ')
}

function textOf(json: string): string {
  try {
    return String(JSON.parse(json))
  } catch {
    return json
  }
}

function ofError({ lines, line }: LogEnd): string {
  const rest = lines.slice(line)
  const end = rest.findIndex((one) => AFTER_ERROR.test(one))
  const said = rest
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .replace(ERROR, '')
  const where = rest.map((one) => ORIGIN.exec(one)).find((found) => found !== null)
  const [file, number] = [where?.[1] ?? where?.[3], where?.[2] ?? where?.[4]]
  const place = file === undefined ? '' : cutTo(NAME_MAX, ` (${file}, line ${number})`)
  return `${cutTo(PLAY_REPORT_MAX - place.length, plain(said) || 'Ansible says ERROR and nothing more')}${place}`
}

function beforeRecap(lines: readonly string[]): readonly string[] {
  const recap = lines.findLastIndex((line) => line.startsWith('PLAY RECAP'))
  return recap < 0 ? lines : lines.slice(0, recap)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const COLOR = /\u001b\[[0-9;]*m/g

/** One line of text without colours, control characters and characters that change the direction of what follows. */
function plain(text: string): string {
  return text
    .replace(COLOR, '')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
}
