import type { JsonObject } from '../../core/json/json-value';
import type { DirectoryPerson } from './directory-people';
import type { DirectoryGroup } from './directory-group.entity';
import { storedEmail } from './scim-input';
import { GROUP_SCHEMA, USER_SCHEMA } from './scim-schema';

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

/** Attributes of a response, as the query selects them. */
export interface AttributeChoice {
  readonly attributes?: string | undefined;
  readonly excludedAttributes?: string | undefined;
}

/** Returns a person as SCIM shows them. @param base address of the service, with the path of SCIM */
export function shownUser({ user, email }: DirectoryPerson, base: string): JsonObject {
  const { agentId: id, externalId, userName, displayName, isActive } = user;
  return {
    ...{ schemas: [USER_SCHEMA], id, externalId, userName },
    ...(displayName === null ? {} : { displayName }),
    active: isActive === 1,
    ...(email === null ? {} : { emails: [{ ...storedEmail(email) }] }),
    meta: metaOf('User', user, `${base}/Users/${id}`),
  };
}

/** @param members ids of the members; undefined if they are left out */
export function shownGroup(group: DirectoryGroup, members: readonly string[] | undefined, base: string): JsonObject {
  const { id, externalId, displayName } = group;
  return {
    ...{ schemas: [GROUP_SCHEMA], id },
    ...(externalId === null ? {} : { externalId }),
    displayName,
    ...(members === undefined ? {} : { members: members.map((value) => ({ value, type: 'User' })) }),
    meta: metaOf('Group', group, `${base}/Groups/${id}`),
  };
}

export function listResponse(resources: readonly JsonObject[], totalResults: number, startIndex: number): JsonObject {
  return {
    ...{ schemas: [LIST_SCHEMA], totalResults, startIndex },
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

/** True unless the query leaves the attribute out. */
export function isChosen(name: string, { attributes, excludedAttributes }: AttributeChoice): boolean {
  const lower = name.toLowerCase();
  if (attributes !== undefined) return namesIn(attributes).has(lower);
  return excludedAttributes === undefined || !namesIn(excludedAttributes).has(lower);
}

/** Returns the resource with the attributes that the query selects; `schemas` and `id` are always present. */
export function withChosen(resource: JsonObject, choice: AttributeChoice): JsonObject {
  const members = Object.entries(resource);
  return Object.fromEntries(members.filter(([name]) => name === 'schemas' || name === 'id' || isChosen(name, choice)));
}

/** Returns the names in lower case, without the schema before a name and the sub-attribute after it. */
function namesIn(list: string): ReadonlySet<string> {
  return new Set(
    list.split(',').map((path) => /^(?:urn:[^,]*:)?([\w$-]+)/i.exec(path.trim())?.[1]?.toLowerCase() ?? ''),
  );
}

function metaOf(
  resourceType: string,
  { createdAt, updatedAt }: Readonly<Record<'createdAt' | 'updatedAt', string>>,
  location: string,
): JsonObject {
  return { resourceType, created: createdAt, lastModified: updatedAt, location };
}
