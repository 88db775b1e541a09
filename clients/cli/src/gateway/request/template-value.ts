import type { JsonObject, JsonValue, Route } from '../file/gateway-config.js';
import { percentDecode } from './percent-decode.js';
import { parseIdTemplate, parseValueTemplate, type Template } from './template.js';

/** The parts of a request in which templates find their values. */
export interface TemplateSources {
  /** Maps the names of the route's path to the values that were sent. */
  readonly pathValues: Readonly<Record<string, string>>;
  /** The name of the route's path that may contain "/", if it has one. */
  readonly restName: string | undefined;
  readonly query: JsonObject;
  readonly body: JsonValue | undefined;
}

type TemplateValue = string | number | boolean;

/** A template whose value is missing, or cannot be part of a resource. */
export class MissingValueError extends Error {
  constructor({ source, name }: Template) {
    super(
      `\${${source}:${name}} must be there once: a text that is not empty and has no "/", a number, true or false.`,
    );
    this.name = 'MissingValueError';
  }
}

/** The names of the values that templates take from a part of a request. */
export function namesFrom(source: Template['source'], { resource, parameters }: Route): string[] {
  const templates = [...idTemplates(resource.id), ...(parameters === undefined ? [] : valueTemplates(parameters))];
  return templates.flatMap((template) => (template.source === source ? [template.name] : []));
}

/** @throws MissingValueError */
export function fillId(id: string, sources: TemplateSources): string {
  const parts = parseIdTemplate(id);
  if (typeof parts === 'string') throw new TypeError(`The resource ${id} ${parts}.`);
  return parts.map((part) => (typeof part === 'string' ? part : String(templateValue(part, sources)))).join('/');
}

/** The value with each template replaced. @throws MissingValueError */
export function fillValue(value: JsonValue, sources: TemplateSources): JsonValue {
  if (typeof value === 'string') {
    const template = parseValueTemplate(value);
    return template === undefined || typeof template === 'string' ? value : templateValue(template, sources);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => fillValue(item, sources));
  return fillObject(value as JsonObject, sources);
}

/** Replaces the templates in an object. @throws MissingValueError */
export function fillObject(object: JsonObject, sources: TemplateSources): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, fillValue(member, sources)]));
}

function idTemplates(id: string): Template[] {
  const parts = parseIdTemplate(id);
  return typeof parts === 'string' ? [] : parts.filter((part) => typeof part !== 'string');
}

function valueTemplates(value: JsonValue): Template[] {
  if (typeof value === 'string') {
    const template = parseValueTemplate(value);
    return template === undefined || typeof template === 'string' ? [] : [template];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value as JsonObject).flatMap(valueTemplates);
}

function templateValue(template: Template, sources: TemplateSources): TemplateValue {
  const value = sourceValue(template, sources);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const mayHaveSlash = template.source === 'path' && template.name === sources.restName;
  if (typeof value !== 'string' || value === '' || (value.includes('/') && !mayHaveSlash))
    throw new MissingValueError(template);
  return value;
}

function sourceValue({ source, name, pointer }: Template, { pathValues, query, body }: TemplateSources): unknown {
  if (source === 'path') return percentDecode(pathValues[name] ?? '');
  if (source === 'query') return Object.hasOwn(query, name) ? query[name] : undefined;
  return pointer.slice(1).reduce<unknown>(memberOf, body);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(name) ? (value[Number(name)] as unknown) : undefined;
  return Object.hasOwn(value, name) ? (Reflect.get(value, name) as unknown) : undefined;
}
