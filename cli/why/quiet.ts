import { quietReasons, type ReasonHelp } from '@open-terrain/constructs/operator'

/** Reports whether nobody has to act: it goes on by itself, or is as somebody wanted it. */
export function isQuiet(help: ReasonHelp): boolean {
  return quietReasons({ it: help }).length > 0
}
