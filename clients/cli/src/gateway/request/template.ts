import { parsePointer } from '../file/secret-pointers.js';

/** A part of a request whose value a template takes. */
export interface Template {
  readonly source: 'path' | 'query' | 'body';
  /** The name in the path or query, or the JSON Pointer. */
  readonly name: string;
  /** Steps into the parameters that a request has without parameters of its route; empty for the path. */
  readonly pointer: readonly string[];
}

const ALL = /\$\{[^}]*\}/g;
const TEMPLATE = /^\$\{(path|query|body):([^}]*)\}$/;
const EXPECTED = 'expected ${path:name}, ${query:name} or ${body:/json/pointer}';

/** The literal segments and templates of a resource's id. @returns what it has to be, if it is not valid */
export function parseIdTemplate(id: string): (string | Template)[] | string {
  const texts: string[] = [];
  const masked = id.replace(ALL, (text) => {
    texts.push(text);
    return '\0';
  });
  const parts: (string | Template)[] = [];
  for (const segment of masked.split('/')) {
    if (segment === '\0') {
      const template = parseTemplate(texts.shift() ?? '');
      if (typeof template === 'string') return template;
      parts.push(template);
    } else if (segment.includes('\0') || segment.includes('${')) {
      return `must have a template as a whole segment: ${EXPECTED}`;
    } else parts.push(segment);
  }
  return parts;
}

/** The template that a text is. @returns undefined if the text has none; what it has to be, if it is not valid */
export function parseValueTemplate(text: string): Template | string | undefined {
  if (!text.includes('${')) return undefined;
  return TEMPLATE.test(text) ? parseTemplate(text) : `must have a template as its whole value: ${EXPECTED}`;
}

function parseTemplate(text: string): Template | string {
  const [, kind, name = ''] = TEMPLATE.exec(text) ?? [];
  if (kind === 'path' && name !== '') return { source: 'path', name, pointer: [] };
  if (kind === 'query' && name !== '') return { source: 'query', name, pointer: ['query', name] };
  const pointer = kind === 'body' ? parsePointer(name) : undefined;
  if (pointer !== undefined && pointer.length > 0) return { source: 'body', name, pointer: ['body', ...pointer] };
  return `has the template ${text}: ${EXPECTED}`;
}
