import type { AllowedOrigins } from './configuration';
import { parseList } from './variable';

/** `*`, or one or several origins separated by commas; empty means that cross-origin requests are off. */
export function parseAllowedOrigins(text: string): AllowedOrigins | undefined {
  if (text === '') return null;
  return text === '*' ? '*' : parseList(text, parseOrigin);
}

/** Only an origin in the very form a browser sends it can ever match, so any other is refused. */
function parseOrigin(text: string): string | undefined {
  const hasOriginForm = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*\\]+$/.test(text);
  if (!hasOriginForm || !URL.canParse(text)) return undefined;
  const isWeb = text.startsWith('http:') || text.startsWith('https:');
  return !isWeb || new URL(text).origin === text ? text : undefined;
}
