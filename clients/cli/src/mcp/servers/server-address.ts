import { SettingsError } from '../../settings.js';

const HEADER = /^\s*([\w!#$%&'*+.^`|~-]+)\s*:\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/;

export function isServerUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

/** @throws SettingsError */
export function headersOf(lines: readonly string[]): [name: string, value: string][] {
  return lines.map((line) => {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name !== undefined && value !== undefined) return [name, value];
    // The URL may hold a secret, and MCP clients keep what is written here.
    throw new SettingsError(
      'Expected --header as "name: value" in one line. What was given is not shown, because it may be secret.',
    );
  });
}
