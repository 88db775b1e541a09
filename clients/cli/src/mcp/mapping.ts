import { changedNumberText, doubtfulNumberIn } from '../unsafe-number.js';
import { readJsonFile } from '../json-file.js';
import { SettingsError } from '../settings.js';

/** How a tool call becomes a request to the policies, if not by its names. */
export interface ToolMapping {
  /** The tool's name unless given. */
  readonly action?: string;
  /** `tool` unless given. */
  readonly resourceType?: string;
  /** `<server>/<tool>` unless given. */
  readonly resourceId?: string;
  /** The argument whose value is the resource's id. */
  readonly resourceArgument?: string;
}

export interface Mapping {
  /** Name of the server in resources; by default its own name. */
  readonly server?: string;
  readonly tools: ReadonlyMap<string, ToolMapping>;
}

/** A tool, or a prompt, of a governed server. */
export interface ItemName {
  /** The server, as resources have it. */
  readonly server: string;
  /** As the server calls it. */
  readonly name: string;
  /** As clients call it. */
  readonly shown: string;
}

/** What the policies are asked about a call. */
export interface ToolRequest {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export type Arguments = Readonly<Record<string, unknown>>;

const NO_MAPPING: Mapping = { tools: new Map() };
/** What can be the first part of a resource id. */
const PLAIN_NAME = /^(?!\.+$)[\w.-]{1,100}$/;
/** A tool name that is safe in an action and a path: no two match as equal, and no such name reads as a location. */
const PLAIN_TOOL = /^(?!\.+(?:\/|$))[\w.:-]+(?:\/(?!\.+(?:\/|$))[\w.:-]+)*$/;
/** Schemes whose hosts have equivalent spellings. */
const WEB_OR_FILE = /^(?:https?|wss?|ftp|file):$/;
/** A fragment, a backslash, a control character, or a path after one slash, which is `///` to some readers. */
const UNCLEAR_PARTS = /[#\\\p{Cc}]|^[a-z][\w+.-]*:\/(?!\/)/iu;
/** No file has a host or a query. */
const PLAIN_FILE = /^file:\/\/\/[^?]*$/;
const TOOL_MEMBERS = ['action', 'resourceType', 'resourceId', 'resourceArgument'] as const;

/**
 * What is called is unclear: from the tool's name, from the argument that names the resource, or as a number among the arguments may
 * no longer be what the client sent. Nothing is requested and nothing runs.
 */
export class UnclearCallError extends Error {}

export function isPlainName(name: string): boolean {
  return PLAIN_NAME.test(name);
}

/** Whether the name of a tool or prompt can be an action, or a part of a resource. */
export function isPlainTool(name: string): boolean {
  return PLAIN_TOOL.test(name);
}

/** What the server is called in resources. @throws SettingsError where it cannot be a part of them. */
export function plainName(name: string): string {
  if (isPlainName(name)) return name;
  throw new SettingsError(
    `A server's name is 1 to 100 letters, digits, ".", "_" and "-"; ${JSON.stringify(name)} is not. Give it another by --name.`,
  );
}

/** @throws SettingsError that names the invalid member. */
export function readMapping(path: string | undefined): Mapping {
  if (path === undefined) return NO_MAPPING;
  try {
    return mappingOf(readJsonFile(path));
  } catch (error) {
    throw new SettingsError(`The mapping ${path} cannot be used: ${error instanceof Error ? error.message : ''}`);
  }
}

function mappingOf(value: unknown): Mapping {
  const { server, tools, ...others } = members(value, 'it');
  refuseOthers(others, 'it', ['server', 'tools']);
  const entries = Object.entries(tools === undefined ? {} : members(tools, 'tools'));
  return {
    ...(server === undefined ? {} : { server: text(server, 'server') }),
    tools: new Map(entries.map(([name, tool]) => [name, toolMappingOf(tool, `tools.${name}`)])),
  };
}

function toolMappingOf(value: unknown, place: string): ToolMapping {
  const given = members(value, place);
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !isToolMember(name)));
  refuseOthers(others, place, TOOL_MEMBERS);
  if (given['resourceId'] !== undefined && given['resourceArgument'] !== undefined) {
    throw new TypeError(`${place} has both resourceId and resourceArgument. Only one of them can name the resource.`);
  }
  return Object.fromEntries(Object.entries(given).map(([name, member]) => [name, text(member, `${place}.${name}`)]));
}

function isToolMember(name: string): boolean {
  return (TOOL_MEMBERS as readonly string[]).includes(name);
}

function members(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError(`${place} must be an object.`);
}

function refuseOthers(others: object, place: string, known: readonly string[]): void {
  const [other] = Object.keys(others);
  if (other !== undefined) throw new TypeError(`${place} has the member ${other}. It may have: ${known.join(', ')}.`);
}

function text(value: unknown, place: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${place} must be a text that is not empty.`);
}

/**
 * @throws UnclearCallError where the mapping takes the resource from an argument that the call does not have, where it leaves
 * action or resource to a name that cannot be one, or where a number may have changed on its way.
 */
export function requestOf(mapping: Mapping, tool: ItemName, given: Arguments | undefined): ToolRequest {
  const { server, name, shown } = tool;
  const { action, resourceType = 'tool', resourceId, resourceArgument } = mapping.tools.get(shown) ?? {};
  const id = resourceArgument === undefined ? resourceId : resourceIn(given, shown, resourceArgument);
  if (!isNameable(mapping, tool)) throw unnameable(name, 'Give it both by a mapping (--map).');
  return {
    action: action ?? name,
    resourceType,
    resourceId: id ?? `${server}/${name}`,
    ...parametersOf(given),
  };
}

/** @throws UnclearCallError as `requestOf` */
export function promptRequestOf({ server, name }: ItemName, given: Arguments | undefined): ToolRequest {
  if (!isPlainTool(name)) throw unnameable(name, 'The server has to give the prompt another.');
  return { action: 'get-prompt', resourceType: 'prompt', resourceId: `${server}/${name}`, ...parametersOf(given) };
}

/**
 * True if every reader finds the same scheme, host and path in a URI: `FILE:///a`, `file://h/a`, `file:/a` and `file:///a?b` are
 * `file:///a` to some readers, and would pass by a policy about it.
 */
export function isPlainUri(uri: string): boolean {
  if (UNCLEAR_PARTS.test(uri) || (/^file:/i.test(uri) && !PLAIN_FILE.test(uri))) return false;
  // What has no scheme is a name.
  if (!URL.canParse(uri)) return !/^[a-z][\w+.-]*:/i.test(uri);
  const { protocol, host, hostname } = new URL(uri);
  const [, authority = ''] = /^[^/?#]+:\/\/([^/?#]*)/.exec(uri) ?? [];
  // A host is the same with a final dot.
  return uri.startsWith(protocol) && ((authority === host && !hostname.endsWith('.')) || !WEB_OR_FILE.test(protocol));
}

/**
 * The request to read a resource: its URI as a path, with another form for each of `file:///a`, `note://a`, `note:///a` and `note:a`.
 * The service refuses what could be read as another path.
 * @throws UnclearCallError for a URI that is not plain
 */
export function readRequestOf(server: string, uri: string): Omit<ToolRequest, 'parameters'> {
  if (!isPlainUri(uri))
    throw new UnclearCallError(`${JSON.stringify(uri)} does not name its scheme and host in their plain form.`);
  return {
    action: 'read',
    resourceType: 'resource',
    resourceId: `${server}/${uri.replace(/^file:\/\/\//, 'file/').replace(/^([^:/?#]+):\/\/(\/?)/, (_, scheme: string, slash: string) => (slash === '' ? `${scheme}/` : `${scheme}:/`))}`,
  };
}

function unnameable(name: string, advice: string): UnclearCallError {
  return new UnclearCallError(
    `The name ${JSON.stringify(name)} can be neither an action nor part of a resource. ${advice}`,
  );
}

function parametersOf(given: Arguments | undefined): { parameters?: Arguments } {
  const doubtful = doubtfulNumberIn(given, 'arguments');
  if (doubtful !== undefined) throw new UnclearCallError(changedNumberText(doubtful));
  return given === undefined ? {} : { parameters: given };
}

/** Whether action and resource of a tool can be said: its name can be a part of them, or the mapping has both. */
export function isNameable({ tools }: Mapping, { name, shown }: ItemName): boolean {
  const { action, resourceId, resourceArgument } = tools.get(shown) ?? {};
  return PLAIN_TOOL.test(name) || (action !== undefined && (resourceId ?? resourceArgument) !== undefined);
}

/** Whether the resource is known only once the tool is called. */
export function takesResourceFromArgument({ tools }: Mapping, { shown }: ItemName): boolean {
  return tools.get(shown)?.resourceArgument !== undefined;
}

function resourceIn(given: Arguments | undefined, tool: string, name: string): string {
  const value = given !== undefined && Object.hasOwn(given, name) ? given[name] : undefined;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new UnclearCallError(`The tool ${tool} needs the argument "${name}", as a text or a whole number.`);
}
