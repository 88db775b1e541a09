import { Messages, type SCIMMY, Types } from 'scimmy';
import { DomainError, scimFault, type ScimType } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { type PatchOperation, plainBody } from './scim-input';

/**
 * The only file that uses the library SCIMMY, whose types are loose: it checks bodies by the schemas, and applies
 * PATCH.
 */
const { Attribute, SchemaDefinition, Schema } = Types;

const ONE_ONLY = { uniqueness: 'server' } as const;

const USER = new SchemaDefinition('User', 'urn:ietf:params:scim:schemas:core:2.0:User', 'A person', [
  new Attribute('string', 'userName', { ...ONE_ONLY, required: true, description: 'Unique, whatever its case.' }),
  new Attribute('string', 'displayName', { description: 'The name of the person, for people.' }),
  new Attribute('boolean', 'active', { description: 'False suspends the person.' }),
  new Attribute('complex', 'emails', { multiValued: true, description: 'The one address that is kept.' }, [
    new Attribute('string', 'value', { description: 'The address to which mails go.' }),
    new Attribute('string', 'type', { description: 'work' }),
    new Attribute('boolean', 'primary', { description: 'true' }),
  ]),
]);
const GROUP = new SchemaDefinition('Group', 'urn:ietf:params:scim:schemas:core:2.0:Group', 'A group of people', [
  new Attribute('string', 'displayName', { ...ONE_ONLY, required: true, caseExact: true, description: 'Unique.' }),
  new Attribute('complex', 'members', { multiValued: true, description: 'The people in the group.' }, [
    new Attribute('string', 'value', { mutable: 'immutable', description: 'The id of a user.' }),
    new Attribute('string', 'type', { mutable: 'immutable', canonicalValues: ['User'], description: 'User' }),
  ]),
]);
Object.assign(USER.attribute('externalId').config, {
  ...{ shadow: false, required: true, mutable: 'immutable', uniqueness: 'server' },
  description: 'The id of the person in the directory. It does not change.',
});
Object.assign(GROUP.attribute('externalId').config, {
  ...{ shadow: false, uniqueness: 'server' },
  description: 'The id of the group in the directory.',
});

interface UserMembers {
  readonly externalId?: string;
  readonly userName?: string;
  readonly displayName?: string;
  readonly active?: boolean;
  readonly emails?: readonly { readonly value?: string }[];
}

interface GroupMembers {
  readonly externalId?: string;
  readonly displayName?: string;
}

/** Attributes of a person in a request; missing ones are undefined. */
export interface ScimUser {
  readonly externalId: string;
  readonly userName: string;
  readonly displayName: string | undefined;
  readonly active: boolean | undefined;
  readonly email: string | undefined;
}

/** Attributes of a group in a request, except its members. */
export interface ScimGroup {
  readonly externalId: string | undefined;
  readonly displayName: string;
}

class UserSchema extends Schema {
  constructor(data: object, direction?: string) {
    super(data, direction);
    Object.assign(this, USER.coerce(data, direction));
  }
}

class GroupSchema extends Schema {
  constructor(data: object, direction?: string) {
    super(data, direction);
    Object.assign(this, GROUP.coerce(data, direction));
  }
}
// The library's own properties have getters, so an assignment would throw.
Object.defineProperty(UserSchema, 'definition', { value: USER });
Object.defineProperty(GroupSchema, 'definition', { value: GROUP });

export const USER_SCHEMA = USER.id;
export const GROUP_SCHEMA = GROUP.id;

/** Describes the schemas in SCIM's form. */
export function schemaDescriptions(base: string): readonly JsonObject[] {
  return [USER, GROUP].map((definition) => JSON.parse(JSON.stringify(definition.describe(base))) as JsonObject);
}

/** Names of attributes in lower case. */
export const USER_ATTRIBUTES = attributeNames(USER);
export const GROUP_ATTRIBUTES = attributeNames(GROUP);

function attributeNames({ attributes }: SCIMMY.Types.SchemaDefinition): ReadonlySet<string> {
  const own = attributes.filter(({ name }) => !['schemas', 'id', 'meta'].includes(name));
  return new Set(own.map(({ name }) => name.toLowerCase()));
}

/** @param externalId id that a PUT need not repeat @throws VALIDATION_ERROR */
export function readUser(body: JsonObject, externalId?: string): ScimUser {
  const plain = plainBody(body);
  return userOf(checked(() => new UserSchema({ externalid: externalId, ...plain }, 'in')));
}

/** @param externalId the id that a PUT need not repeat. @throws VALIDATION_ERROR */
export function readGroup(body: JsonObject, externalId?: string): ScimGroup {
  const { members: _members, ...plain } = plainBody(body);
  return groupOf(checked(() => new GroupSchema({ externalid: externalId, ...plain }, 'in')));
}

/** @throws VALIDATION_ERROR */
export function patchUser(user: object, operations: readonly PatchOperation[]): Promise<ScimUser> {
  return patch(new UserSchema(user), operations).then((patched) => userOf(patched));
}

/** @throws VALIDATION_ERROR */
export function patchGroup(group: object, operations: readonly PatchOperation[]): Promise<ScimGroup> {
  return patch(new GroupSchema(group), operations).then((patched) => groupOf(patched as GroupMembers));
}

/** Most operations of a PATCH: the library applies them in one step. */
const MAX_OPERATIONS = 1_000;

/** Returns the operations of a PATCH as they were sent. @throws VALIDATION_ERROR if the body is no PATCH */
export function readOperations(body: JsonObject): readonly JsonObject[] {
  const { schemas = null, Operations: operations = null } = body;
  if (Array.isArray(operations) && operations.length > MAX_OPERATIONS)
    throw scimFault('invalidValue', `A PATCH has at most ${MAX_OPERATIONS} operations.`);
  const message = { schemas: schemas ?? [], Operations: operations ?? [] } as { schemas: never; Operations: never };
  return checked(() => new Messages.PatchOp(message)).Operations as readonly object[] as readonly JsonObject[];
}

async function patch<Kind extends SCIMMY.Types.Schema>(
  resource: Kind,
  operations: readonly PatchOperation[],
): Promise<Kind> {
  if (operations.length === 0) return resource;
  const message = { schemas: [Messages.PatchOp.id], Operations: operations } as { schemas: never; Operations: never };
  try {
    // Undefined if nothing changes.
    const patched: unknown = await new Messages.PatchOp(message).apply(resource);
    return patched === undefined ? resource : (patched as Kind);
  } catch (error) {
    throw faultOf(error);
  }
}

function userOf({ externalId = '', userName = '', displayName, active, emails }: UserMembers): ScimUser {
  return { externalId, userName, displayName, active, email: emails?.[0]?.value };
}

function groupOf({ externalId, displayName = '' }: GroupMembers): ScimGroup {
  return { externalId, displayName };
}

function checked<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw faultOf(error);
  }
}

/** Converts a thrown error: the library throws a `TypeError` for a value that the schema does not allow. */
function faultOf(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error;
  if (error instanceof Types.Error) return scimFault(error.scimType as ScimType, error.message);
  return error instanceof TypeError ? scimFault('invalidValue', error.message) : error;
}
