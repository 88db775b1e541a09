import type { FilePath } from './document.js';
import type { FaultList } from './fault-list.js';
import type { JsonObject, JsonValue, Route } from './gateway-config.js';
import type { RouteInput } from './gateway-input.js';
import { type CallRules, readCallRules } from './call-rules.js';
import { isSecretPointer } from './secret-pointers.js';
import { namesIn, parseRoutePattern, type RoutePattern } from '../request/route-pattern.js';
import { namesFrom } from '../request/template-value.js';
import { parseIdTemplate, parseValueTemplate, type Template } from '../request/template.js';
import { exactLabelFault } from '../../service-rules/label-fault.js';
import { resourcePathFault, resourceTypeFault } from '../../service-rules/resources.js';

/** Names of members that have a meaning of their own in parameters. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['$sha256', '$secret', '$hmac', '__proto__']);
/** Maximum bytes of a body from which templates take values: JSON is parsed in one step. */
const MAX_PARSED_BYTES = 8 * 1024 * 1024;
const READ_ONLY: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** @param inherited the rules of the upstream @returns null if the route has a fault */
export function readRoute(input: RouteInput, path: FilePath, inherited: CallRules, faults: FaultList): Route | null {
  const { match, action, resource, parameters, record = true, query = false } = input;
  const calls = readCallRules(input, path, inherited, faults);
  const pattern = match === undefined ? null : readPattern(match, [...path, 'match'], faults);
  if (action !== undefined) checkAction(action, [...path, 'action'], faults);
  if (resource?.type !== undefined) checkType(resource.type, [...path, 'resource', 'type'], faults);
  const check: TemplateCheck = { pattern, secret: calls.secret, faults };
  if (resource?.id !== undefined) checkId(resource.id, [...path, 'resource', 'id'], check);
  if (parameters !== undefined) checkParameters(parameters, [...path, 'parameters'], check);
  if (!record && pattern?.methods.some((method) => !READ_ONLY.has(method)) === true)
    faults.add(
      [...path, 'record'],
      'may be false only where all methods are GET and HEAD: other requests are recorded',
    );
  if (match === undefined || pattern === null || action === undefined) return null;
  if (resource?.type === undefined || resource.id === undefined) return null;
  const route = {
    match,
    methods: pattern.methods,
    path: pattern.path,
    action,
    resource: { type: resource.type, id: resource.id },
    ...(parameters !== undefined && { parameters }),
    isRecorded: record,
    allowsQuery: query,
    ...calls,
  };
  return namesFrom('body', route).length === 0 ? route : withParsedBody(route, input, path, faults);
}

/**
 * Returns a route whose templates take values from the body, with the bound of such bodies: that of the upstream may be
 * larger.
 */
function withParsedBody(route: Route, { maxBody = 0 }: RouteInput, path: FilePath, faults: FaultList): Route {
  if (maxBody > MAX_PARSED_BYTES)
    faults.add(
      [...path, 'maxBody'],
      `must be at most ${MAX_PARSED_BYTES} where a template takes a value from the body`,
    );
  return { ...route, maxBodyBytes: Math.min(route.maxBodyBytes, MAX_PARSED_BYTES) };
}

function readPattern(match: string, path: FilePath, faults: FaultList): RoutePattern | null {
  const pattern = parseRoutePattern(match);
  return typeof pattern === 'string' ? faults.reject(path, pattern) : pattern;
}

function checkAction(action: string, path: FilePath, faults: FaultList): void {
  const fault = action.includes('${') ? 'must have no template' : exactLabelFault(action);
  if (fault !== undefined) faults.add(path, fault);
  else if (action.includes('*')) faults.add(path, 'must be one action, without "*"');
}

function checkType(type: string, path: FilePath, faults: FaultList): void {
  const fault = type.includes('${') ? 'must have no template' : resourceTypeFault(type);
  if (fault !== undefined) faults.add(path, fault);
}

interface TemplateCheck {
  readonly pattern: RoutePattern | null;
  /** Pointers of the file to secret values. */
  readonly secret: readonly string[];
  readonly faults: FaultList;
}

function checkId(id: string, path: FilePath, check: TemplateCheck): void {
  const parts = parseIdTemplate(id);
  if (typeof parts === 'string') {
    check.faults.add(path, parts);
    return;
  }
  const example = parts.map((part) => (typeof part === 'string' ? part : 'value')).join('/');
  const fault = resourcePathFault(example);
  if (fault !== undefined) check.faults.add(path, fault);
  for (const part of parts) if (typeof part !== 'string') checkTemplate(part, path, check);
}

function checkParameters(parameters: JsonObject, path: FilePath, check: TemplateCheck): void {
  if (Object.hasOwn(parameters, 'request'))
    check.faults.add([...path, 'request'], 'is a member that the gateway adds: choose another name');
  checkValue(parameters, path, check);
}

function checkValue(value: JsonValue, path: FilePath, check: TemplateCheck): void {
  if (typeof value === 'string') {
    const template = parseValueTemplate(value);
    if (typeof template === 'string') check.faults.add(path, template);
    else if (template !== undefined) checkTemplate(template, path, check);
  } else if (Array.isArray(value)) {
    value.forEach((item: JsonValue, index) => checkValue(item, [...path, index], check));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value as JsonObject)) {
      if (RESERVED_NAMES.has(name)) check.faults.add([...path, name], 'is not possible as a name of parameters');
      checkValue(member, [...path, name], check);
    }
  }
}

function checkTemplate({ source, name, pointer }: Template, path: FilePath, check: TemplateCheck): void {
  const { pattern, secret, faults } = check;
  if (source === 'path' && pattern !== null && !namesIn(pattern).includes(name)) {
    faults.add(path, `has the template \${path:${name}}, and match has no ":${name}"`);
  }
  if (isSecretPointer(pointer, secret)) {
    faults.add(path, `has the template \${${source}:${name}} at a secret value, which must not be kept`);
  }
}
