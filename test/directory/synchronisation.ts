import type { DirectoryClient } from './directory-client';
import { GROUP, USER } from './directory-client';

/** A directory of people and groups; each person is in two groups. */
export interface Directory {
  readonly people: number;
  readonly groups: number;
}

/** Members that a request adds to a group, as Entra ID and Okta do. */
const MEMBERS_AT_ONCE = 100;

function userOf(index: number): { readonly userName: string; readonly [name: string]: unknown } {
  const userName = `person${index}@example.com`;
  return {
    ...{ schemas: [USER], externalId: `id-${index}`, userName, displayName: `Person ${index}`, active: true },
    emails: [{ value: userName, type: 'work', primary: true }],
  };
}

/** The people of a group, by their number. */
function peopleIn(group: number, { people, groups }: Directory): number[] {
  return Array.from({ length: people }, (_, person) => person).filter(
    (person) => person % groups === group || (person + 1) % groups === group,
  );
}

/**
 * Synchronises everything as a directory does: looks for each person and group, creates what is missing, and sends what
 * is there again in full.
 */
export async function synchronise(client: DirectoryClient, directory: Directory): Promise<void> {
  const ids: string[] = [];
  for (let person = 0; person < directory.people; person += 1) {
    const user = userOf(person);
    const [present] = await client.find('Users', `userName eq "${user.userName}"`);
    if (present === undefined) ids.push(await created(client, 'Users', user));
    else ids.push((await client.send('PUT', `Users/${present.id}`, user)).body.id);
  }
  for (let group = 0; group < directory.groups; group += 1) {
    const displayName = `Group ${group}`;
    const body = { schemas: [GROUP], externalId: `group-${group}`, displayName };
    const [present] = await client.find('Groups', `displayName eq "${displayName}"`);
    const id = present?.id ?? (await created(client, 'Groups', body));
    const members = peopleIn(group, directory).map((person) => ({ value: ids[person] }));
    for (let start = 0; start < members.length; start += MEMBERS_AT_ONCE) {
      const value = members.slice(start, start + MEMBERS_AT_ONCE);
      await client.patch(`Groups/${id}`, { op: 'add', path: 'members', value });
    }
  }
}

async function created(client: DirectoryClient, list: 'Users' | 'Groups', body: object): Promise<string> {
  const answer = await client.send('POST', list, body);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.id;
}
