/** A command line: its words without quotes, without assignments before it and without redirections. */
export type CommandWords = readonly string[]

/** What stands for the output of a command within a word. */
const OUTPUT = '$()'
/** Words that come before a command and are none. */
const BEFORE = new Set(['do', 'else', 'exec', 'if', 'nice', 'sudo', 'then', 'time', 'until', 'while', '!', '{'])
const HERE_DOCUMENT = /<<-?\s*(['"]?)(\w+)\1([^\n]*)\n.*?^\s*\2$/gms

/** Returns the commands of a text for a shell, as far as pages use one: those in `$(...)`, `<(...)` and pipes too. */
export function commandsIn(text: string): CommandWords[] {
  return new Reader(text.replaceAll(HERE_DOCUMENT, '$3')).read()
}

class Reader {
  readonly #text: string
  readonly #commands: CommandWords[] = []
  #at = 0
  #words: string[] = []
  #word: string | undefined
  /** The next word is where input comes from, or output goes. */
  #isRedirected = false

  constructor(text: string) {
    this.#text = text
  }

  read(): CommandWords[] {
    while (this.#at < this.#text.length) this.#step(this.#text[this.#at] ?? '')
    this.#endCommand()
    return this.#commands
  }

  #step(character: string): void {
    this.#at++
    if (/[ \t]/.test(character)) this.#endWord()
    else if (/[\n;|]/.test(character)) this.#endCommand()
    else if (character === '&') this.#ampersand()
    else if (character === '#' && this.#word === undefined) this.#at = indexOf(this.#text, '\n', this.#at)
    else if (character === '\\') this.#escaped()
    else if (character === "'") this.#add(this.#until("'"))
    else if (character === '"') this.#quoted()
    else if (/[$<>]/.test(character) && this.#text[this.#at] === '(') this.#nested()
    else if (/[<>]/.test(character)) this.#redirected()
    else this.#add(character)
  }

  #ampersand(): void {
    if (this.#isRedirected) this.#add('&')
    else this.#endCommand()
  }

  #escaped(): void {
    const next = this.#text[this.#at++] ?? ''
    if (next !== '\n') this.#add(next)
  }

  #quoted(): void {
    this.#add('')
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at++] ?? ''
      if (character === '"') return
      if (character === '\\') this.#escaped()
      else if (character === '$' && this.#text[this.#at] === '(') this.#nested()
      else this.#add(character)
    }
  }

  #nested(): void {
    const start = ++this.#at
    for (let depth = 1; depth > 0 && this.#at < this.#text.length; this.#at++) {
      if (this.#text[this.#at] === '(') depth++
      if (this.#text[this.#at] === ')') depth--
    }
    this.#commands.push(...commandsIn(this.#text.slice(start, this.#at - 1)))
    this.#add(OUTPUT)
  }

  #redirected(): void {
    if (/^\d$/.test(this.#word ?? '')) this.#word = undefined
    this.#endWord()
    this.#isRedirected = true
  }

  #until(end: string): string {
    const from = this.#at
    this.#at = indexOf(this.#text, end, from) + 1
    return this.#text.slice(from, this.#at - 1)
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text
  }

  #endWord(): void {
    if (this.#word === undefined) return
    if (!this.#isRedirected) this.#words.push(this.#word)
    this.#isRedirected = false
    this.#word = undefined
  }

  #endCommand(): void {
    this.#endWord()
    const first = this.#words.findIndex((word) => !BEFORE.has(word) && !/^\w+=/.test(word))
    if (first >= 0) this.#commands.push(this.#words.slice(first))
    this.#words = []
  }
}

function indexOf(text: string, part: string, from: number): number {
  const found = text.indexOf(part, from)
  return found < 0 ? text.length : found
}
