import { type Answer, send } from '../support/application/send';
import type { TestApp } from '../support/application/create-test-app';

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** Sends as a directory does: with its media type, and its key as a bearer token. */
export class DirectoryClient {
  constructor(
    private readonly app: Pick<TestApp, 'url'>,
    private readonly secret: string,
  ) {}

  send(method: string, path: string, body?: object): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${this.secret}`,
      ...(body !== undefined && { 'Content-Type': 'application/scim+json; charset=utf-8' }),
    };
    return send(this.app, method, `/scim/v2/${path}`, { key: null, headers, ...(body !== undefined && { body }) });
  }

  patch(path: string, ...operations: readonly object[]): Promise<Answer> {
    return this.send('PATCH', path, { schemas: [PATCH], Operations: operations });
  }

  /** The people or groups that a filter finds. */
  async find(list: 'Users' | 'Groups', filter: string): Promise<readonly { readonly id: string }[]> {
    return (await this.send('GET', `${list}?filter=${encodeURIComponent(filter)}`)).body.Resources;
  }

  /** A person that did not exist. */
  async addUser(userName: string, more: object = {}): Promise<string> {
    const { status, body, text } = await this.send('POST', 'Users', {
      ...{ schemas: [USER], externalId: `id of ${userName}`, userName, active: true },
      ...more,
    });
    if (status !== 201) throw new Error(text);
    return body.id;
  }

  async addGroup(displayName: string, members: readonly string[] = [], more: object = {}): Promise<string> {
    const { status, body, text } = await this.send('POST', 'Groups', {
      ...{ schemas: [GROUP], externalId: `id of ${displayName}`, displayName },
      ...{ members: members.map((value) => ({ value })), ...more },
    });
    if (status !== 201) throw new Error(text);
    return body.id;
  }
}
