import { changedNumberText, doubtfulNumberIn } from '../unsafe-number.js';
import { readRegularJsonFile } from '../json-file.js';
import { hasDigest } from '../large-values.js';
import { ambiguousNamesIn, ambiguousNamesText } from './ambiguous-names.js';
import { decodePercent } from '../service-rules/percent-encoding.js';
import { secretPointerFault, SecretPointers, USUAL_SECRET_POINTERS } from '../service-rules/secret-pointers.js';
import { SettingsError } from '../settings.js';

/** The request to the policies for a tool call, if it differs from the names of tool and server. */
export interface ToolMapping {
  /** The tool's name unless given. */
  readonly action?: string;
  /** `tool` unless given. */
  readonly resourceType?: string;
  /** `<server>/<tool>` unless given. */
  readonly resourceId?: string;
  /** The argument whose value is the resource's id. */
  readonly resourceArgument?: string;
  /** JSON Pointers to arguments that the service must not keep, in addition to those of the mapping. */
  readonly secret?: string[];
}

export interface Mapping {
  /** Name of the server in resources; by default its own name. */
  readonly server?: string;
  readonly tools: ReadonlyMap<string, ToolMapping>;
  /** JSON Pointers to arguments of all tools and prompts that the service must not keep. */
  readonly secret?: string[];
}

/** A tool, or a prompt, of a governed server. */
export interface ItemName {
  /** The server, as resources have it. */
  readonly server: string;
  /** The name that the server uses. */
  readonly name: string;
  /** The name that clients use. */
  readonly visibleName: string;
}

/** The request to the policies about a call. */
export interface ToolRequest {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly secret?: string[];
}

export type Arguments = Readonly<Record<string, unknown>>;

const NO_MAPPING: Mapping = { tools: new Map() };
/** A text that can be the first part of a resource id. */
const PLAIN_NAME = /^(?!\.+$)[\w.-]{1,100}$/;
/** A tool name that is safe in an action and a path: no two match as equal, and no such name reads as a location. */
const PLAIN_TOOL = /^(?!\.+(?:\/|$))[\w.:-]+(?:\/(?!\.+(?:\/|$))[\w.:-]+)*$/;
/** Most characters of a tool's or prompt's name: a thousand are asked about in one request. */
const MAX_NAME_CHARACTERS = 256;
/** Schemes whose hosts have equivalent spellings. */
const WEB_OR_FILE = /^(?:https?|wss?|ftp|file):$/;
/** A fragment, a backslash, a control character, or a path after one slash, which is `///` to some readers. */
const UNCLEAR_PARTS = /[#\\\p{Cc}]|^[a-z][\w+.-]*:\/(?!\/)/iu;
/** The URL of a file without a host and a query. */
const PLAIN_FILE = /^file:\/\/\/[^?]*$/;
const TEXT_MEMBERS = ['action', 'resourceType', 'resourceId', 'resourceArgument'] as const;
const TOOL_MEMBERS = [...TEXT_MEMBERS, 'secret'];
const MAX_SECRETS = 10;

/**
 * The call is unclear: its tool's name or the argument with the resource cannot be used, or a number among the
 * arguments may no longer be what the client sent. Nothing is requested and nothing runs.
 */
export class UnclearCallError extends Error {}

export function isPlainName(name: string): boolean {
  return PLAIN_NAME.test(name);
}

/** True if the name of a tool or prompt can be an action, and a part of a resource. */
export function isPlainTool(name: string): boolean {
  return name.length <= MAX_NAME_CHARACTERS && PLAIN_TOOL.test(name);
}

/** Returns the name of the server in resources. @throws SettingsError if it cannot be a part of them. */
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
    return mappingOf(readRegularJsonFile(path));
  } catch (error) {
    throw new SettingsError(`The mapping ${path} cannot be used: ${error instanceof Error ? error.message : ''}`);
  }
}

/**
 * The mapping with more pointers to arguments of all tools.
 * @throws SettingsError if a tool then has too many, or names its resource by one
 */
export function withSecrets(mapping: Mapping, pointers: readonly string[]): Mapping {
  const secret = [...new Set([...pointers, ...(mapping.secret ?? [])])];
  for (const tool of [{ secret: [] }, ...mapping.tools.values()])
    if (new Set([...secret, ...(tool.secret ?? [])]).size > MAX_SECRETS)
      throw new SettingsError(
        `A tool must have at most ${MAX_SECRETS} pointers to secrets, with those of the upstream.`,
      );
  for (const [name, tool] of mapping.tools)
    if (hasSecretResource(tool, secret)) throw new SettingsError(secretResourceFault(`tools.${name}`));
  return { ...mapping, secret };
}

function mappingOf(value: unknown): Mapping {
  const { server, tools, secret, ...otherMembers } = members(value, 'it');
  refuseOthers(otherMembers, 'it', ['server', 'tools', 'secret']);
  const ofAll = secret === undefined ? [] : secretPointers(secret, 'secret');
  const entries = Object.entries(tools === undefined ? {} : members(tools, 'tools'));
  return {
    ...(server === undefined ? {} : { server: text(server, 'server') }),
    ...(secret === undefined ? {} : { secret: ofAll }),
    tools: new Map(entries.map(([name, tool]) => [name, toolMappingOf(tool, `tools.${name}`, ofAll)])),
  };
}

function toolMappingOf(value: unknown, place: string, secretOfAll: readonly string[]): ToolMapping {
  const toolMembers = members(value, place);
  const { secret, ...textMembers } = toolMembers;
  const otherMembers = Object.fromEntries(Object.entries(toolMembers).filter(([name]) => !TOOL_MEMBERS.includes(name)));
  refuseOthers(otherMembers, place, TOOL_MEMBERS);
  if (toolMembers['resourceId'] !== undefined && toolMembers['resourceArgument'] !== undefined) {
    throw new TypeError(`${place} has both resourceId and resourceArgument. Only one of them can name the resource.`);
  }
  const texts = Object.entries(textMembers).map(([name, member]) => [name, text(member, `${place}.${name}`)] as const);
  const mapping: ToolMapping = {
    ...Object.fromEntries(texts),
    ...(secret === undefined ? {} : { secret: secretPointers(secret, `${place}.secret`, secretOfAll) }),
  };
  if (hasSecretResource(mapping, secretOfAll)) throw new TypeError(secretResourceFault(place));
  return mapping;
}

/** True if the resource of a tool would be the value of a secret argument, since resources are kept as they are. */
function hasSecretResource({ resourceArgument, secret = [] }: ToolMapping, secretOfAll: readonly string[]): boolean {
  const secrets = new SecretPointers(USUAL_SECRET_POINTERS).with([...secretOfAll, ...secret]);
  return resourceArgument !== undefined && secrets.covers([resourceArgument]);
}

function secretResourceFault(place: string): string {
  return `${place}.resourceArgument names a secret argument, whose value must not be kept.`;
}

/** @param ofAll pointers for all tools, which count as well */
function secretPointers(value: unknown, place: string, ofAll: readonly string[] = []): string[] {
  if (!Array.isArray(value)) throw new TypeError(`${place} must be a list of JSON Pointers.`);
  const pointers = value.map((item: unknown, index) => text(item, `${place}[${index}]`));
  for (const [index, pointer] of pointers.entries()) {
    const fault = secretPointerFault(pointer);
    if (fault !== undefined) throw new TypeError(`${place}[${index}] ${fault}.`);
  }
  if (new Set([...ofAll, ...pointers]).size > MAX_SECRETS)
    throw new TypeError(`${place} must have at most ${MAX_SECRETS} pointers, with those of all tools.`);
  return [...new Set(pointers)];
}

function members(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError(`${place} must be an object.`);
}

function refuseOthers(otherMembers: object, place: string, knownNames: readonly string[]): void {
  const [name] = Object.keys(otherMembers);
  if (name !== undefined)
    throw new TypeError(`${place} has the member ${name}. It may have: ${knownNames.join(', ')}.`);
}

function text(value: unknown, place: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${place} must be a text that is not empty.`);
}

/**
 * @throws UnclearCallError where the mapping takes the resource from an argument that the call does not have, where it
 *   leaves action or resource to a name that cannot be one, where a number may have changed on its way, or where
 *   programs read names differently.
 */
export function requestOf(mapping: Mapping, tool: ItemName, input: Arguments | undefined): ToolRequest {
  const { server, name, visibleName } = tool;
  const { action, resourceType = 'tool', resourceId, resourceArgument, secret } = mapping.tools.get(visibleName) ?? {};
  const id = resourceArgument === undefined ? resourceId : resourceIn(input, visibleName, resourceArgument);
  if (!isNameable(mapping, tool)) throw unnameable(name, 'Give it both by a mapping (--map).');
  return {
    action: action ?? name,
    resourceType,
    resourceId: id ?? `${server}/${name}`,
    ...(secret === undefined ? {} : { secret }),
    ...parametersOf(input),
  };
}

/** @throws UnclearCallError as `requestOf` */
export function promptRequestOf({ server, name }: ItemName, input: Arguments | undefined): ToolRequest {
  if (!isPlainTool(name)) throw unnameable(name, 'The server has to give the prompt another.');
  return { action: 'get-prompt', resourceType: 'prompt', resourceId: `${server}/${name}`, ...parametersOf(input) };
}

/**
 * True if every reader finds the same scheme, host and path in a URI: `FILE:///a`, `file://h/a`, `file:/a` and
 * `file:///a?b` are `file:///a` to some readers, and would pass by a policy about it. So would `note://h:/a` pass by one
 * about `note://h/a`, and `file:///C|/a` by one about `file:///C:/a`: the official SDK of servers reads every URI as a
 * URL parser writes it.
 */
export function isPlainUri(uri: string): boolean {
  if (UNCLEAR_PARTS.test(uri) || (/^file:/i.test(uri) && !PLAIN_FILE.test(uri))) return false;
  // A text without a scheme is a name: with a slash it would pass for a URI whose scheme is its first part.
  if (!URL.canParse(uri)) return !/^[a-z][\w+.-]*:|\//i.test(uri);
  const { protocol, host, hostname, href } = new URL(uri);
  // Parsers add a slash to a web host without a path.
  const [read, written] = [decodePercent(href), decodePercent(uri)];
  if (read !== written && read !== `${written}/`) return false;
  const [, authority = ''] = /^[^/?#]+:\/\/([^/?#]*)/.exec(uri) ?? [];
  // A host is the same with a final dot.
  return uri.startsWith(protocol) && ((authority === host && !hostname.endsWith('.')) || !WEB_OR_FILE.test(protocol));
}

/**
 * Returns the request to read a resource: its URI as a path, with another form for each of `file:///a`, `note://a`,
 * `note:///a` and `note:a`. The service refuses a path that could be read as another one.
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

function parametersOf(input: Arguments | undefined): { parameters?: Arguments } {
  const doubtful = doubtfulNumberIn(input, 'arguments');
  if (doubtful !== undefined) throw new UnclearCallError(changedNumberText(doubtful));
  const ambiguous = ambiguousNamesIn(input, 'arguments');
  if (ambiguous !== undefined) throw new UnclearCallError(ambiguousNamesText(ambiguous));
  if (hasDigest(input))
    throw new UnclearCallError('arguments have a member "$sha256", which stands for a text that is not sent.');
  return input === undefined ? {} : { parameters: input };
}

/** True if a tool has an action and a resource: its name can be a part of them, or the mapping has both. */
export function isNameable({ tools }: Mapping, { name, visibleName }: ItemName): boolean {
  const { action, resourceId, resourceArgument } = tools.get(visibleName) ?? {};
  return isPlainTool(name) || (action !== undefined && (resourceId ?? resourceArgument) !== undefined);
}

/** True if the resource is known only once the tool is called. */
export function takesResourceFromArgument({ tools }: Mapping, { visibleName }: ItemName): boolean {
  return tools.get(visibleName)?.resourceArgument !== undefined;
}

function resourceIn(input: Arguments | undefined, tool: string, name: string): string {
  const value = input !== undefined && Object.hasOwn(input, name) ? input[name] : undefined;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw new UnclearCallError(`The tool ${tool} needs the argument "${name}", as a text or a whole number.`);
}
