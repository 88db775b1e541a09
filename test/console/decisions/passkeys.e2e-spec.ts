import { API_KEY } from '../../support/application/api-key';
import type { CDPSession } from '../../../console/node_modules/playwright-core';
import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { freePort } from '../../../bench/support/free-port';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage, PAYMENT, startApplicationAt } from '../company';
import { overflow, violations, withAxe } from '../look';

/** A device of a person, as the browser sees one. */
class Device {
  private constructor(
    private readonly session: CDPSession,
    private readonly authenticatorId: string,
  ) {}

  /** The first one of a page. */
  static async of(page: Page): Promise<Device> {
    const session = await page.context().newCDPSession(page);
    await session.send('WebAuthn.enable');
    return Device.plugged(session, 'internal');
  }

  /** Another one, of the same person. */
  other(): Promise<Device> {
    return Device.plugged(this.session, 'usb');
  }

  private static async plugged(session: CDPSession, transport: 'internal' | 'usb'): Promise<Device> {
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport, hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    return new Device(session, authenticatorId);
  }

  /** Chooses whether somebody touches it when the page asks for that. */
  async touched(enabled: boolean): Promise<void> {
    const { authenticatorId } = this;
    await this.session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  }

  async credentials(): Promise<number> {
    const { authenticatorId } = this;
    return (await this.session.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length;
  }
}

describeInBrowser("The console's passkeys", () => {
  let origin = '';
  let port = 0;
  const stage = companyStage(
    async () => {
      port = await freePort();
      origin = `http://localhost:${port}`;
      return { PUBLIC_URL: origin };
    },
    (environment) => startApplicationAt(port, environment),
  );
  let invoices = 0;

  beforeAll(async () => {
    const approvers = [{ subjects: ['role:security'], signed: true }];
    const approval = { riskLevel: 'critical', approvers, grant: { for: 'P1D' } };
    const rules = { effect: 'require_approval', actions: ['read-invoice'], name: 'signed' };
    await createPolicy(stage.company.program, { ...rules, approval });
  });

  it('are named where a plan or an answer needs their signature', async () => {
    const { program } = stage.company;
    const page = await opened('policies', program.key);
    await page.getByRole('button', { name: 'New policy' }).click();
    const approval = { riskLevel: 'critical', approvers: [{ subjects: ['role:security'] }], grant: { for: 'P1D' } };
    const rules = { effect: 'require_approval', subjects: ['*'], actions: ['read-invoice'], resources: ['*'] };
    const unsigned = { ...rules, name: 'signed', version: '2.0', approval };
    await page.getByLabel('The policy', { exact: true }).fill(JSON.stringify(unsigned));
    await page.getByRole('button', { name: 'Show what it would change' }).click();
    const changed = /needs 1 of the role security, signed → needs 1 of the role security(?!,)/;
    await page.getByRole('listitem').filter({ hasText: changed }).first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Explain' }).click();
    for (const [label, text] of [
      ['Agent', 'payment-bot'],
      ['Action', 'read-invoice'],
      ['Resource type', 'x'],
    ] as const)
      await page.getByLabel(label).fill(text);
    await page.getByLabel('Resource', { exact: true }).fill('7');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('It needs 1 signed approval from the role security, within').waitFor();
  });

  async function readInvoice(): Promise<{ decisionId: string }> {
    const { program, bot } = stage.company;
    invoices += 1;
    const body = { ...PAYMENT, action: 'read-invoice', resourceId: `invoices/${invoices}` };
    return (await send(program, 'POST', '/api/v1/agents/payment-bot/execute', { key: bot.key, body })).body;
  }

  async function opened(path: string, key: string, look = {}): Promise<Page> {
    const page = await stage.browser.open(`${origin}/console/${path}`, look);
    await signIn(page, key);
    return page;
  }

  async function added(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name of the device').fill(name);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
  }

  const passkeys = async (): Promise<{ id: string; name: string }[]> =>
    (await send(stage.company.program, 'GET', `/api/v1/agents/${stage.company.sara.id}/passkeys`)).body.data;

  it('are registered, a second one by the first, and sign approvals by a touch', async () => {
    const { program, sara, finn } = stage.company;
    const { decisionId } = await readInvoice();
    const finns = await opened(`decisions/${decisionId}`, finn.key);
    await finns.getByText('You are not one of its reviewers.').waitFor();
    const page = await opened(`decisions/${decisionId}`, sara.key, { width: 390, dark: true });
    await page.getByText('It has to be signed, and you have no passkey yet').waitFor();
    await page.getByText('needs 1 of the role security, signed').waitFor();
    await page.getByText('Cannot approve it: sara (you) (has no passkey to sign it).').waitFor();

    await page.getByText('Not enough people have a passkey yet.').waitFor();
    const phone = await Device.of(page);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await page.getByText('No passkeys yet.').waitFor();
    await added(page, 'Phone');
    await page.getByText('Phone', { exact: true }).waitFor();
    const token = await phone.other();
    await phone.touched(false);
    // A person touches the new device first, and then the one that they have.
    await page.exposeFunction('turnToPhone', async () => {
      await token.touched(false);
      await phone.touched(true);
    });
    await page.evaluate(`{
      const create = navigator.credentials.create.bind(navigator.credentials);
      navigator.credentials.create = async (options) => {
        const made = await create(options);
        await turnToPhone();
        return made;
      };
    }`);
    await added(page, 'Token');
    await page.getByText('Token', { exact: true }).waitFor();
    expect(await token.credentials()).toBe(1);
    const trail = await opened('activity?action=passkey.registered', API_KEY);
    const registered = trail.getByRole('main').locator('.trail li').first();
    await registered.getByText(/^by sara \(key \w{6}\)$/).waitFor();
    expect(await registered.innerText()).toContain('Passkey registered for sara');
    await withAxe(page);
    expect([await violations(page), await overflow(page)]).toEqual([[], 0]);
    expect((await passkeys()).map(({ name }) => name)).toEqual(['Phone', 'Token']);

    await page.goBack();
    await page.getByLabel('For how long').selectOption('1 hour');
    await page.getByLabel(/Comment/).fill('Seen and signed.');
    await page.getByText(/Your device signs it\./).waitFor();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('button', { name: 'Approve it, at critical risk' }).click();
    await page.getByText('It was approved. The agent has not continued yet.').waitFor();
    await page.getByText('signed with a passkey', { exact: true }).waitFor();
    const { body } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`);
    const [{ signature, grant }] = body.reviews;
    expect([grant.for, (await passkeys()).map(({ id }) => id).includes(signature.passkeyId)]).toEqual(['PT1H', true]);
    const client = JSON.parse(Buffer.from(signature.clientDataJSON, 'base64url').toString());
    expect(client).toMatchObject({ type: 'webauthn.get', origin });
  });

  it('nobody adds one or signs with a stolen session, and what is removed signs no more', async () => {
    const { program, sara } = stage.company;
    const { decisionId } = await readInvoice();
    const before = await passkeys();
    const thief = await opened(`passkeys/${sara.id}`, sara.key);
    const device = await Device.of(thief);
    await thief.getByText('Phone', { exact: true }).waitFor();
    await added(thief, 'Mine now');
    await thief.getByText('The device made no signature.').waitFor();
    expect([await device.credentials(), await passkeys()]).toEqual([1, before]);
    await thief.getByRole('button', { name: 'Remove Phone' }).click();
    await thief.getByText('The device made no signature.').last().waitFor();
    await thief.goto(`${origin}/console/decisions/${decisionId}`);
    await signIn(thief, sara.key);
    await thief.getByRole('button', { name: 'Approve', exact: true }).click();
    await thief.getByRole('button', { name: 'Approve it, at critical risk' }).click();
    await thief.getByText('The device made no signature.').waitFor();
    expect(await passkeys()).toEqual(before);

    const admin = await opened(`agents/${sara.id}`, program.key);
    await admin.getByRole('main').getByRole('link', { name: 'Passkeys' }).click();
    for (const { name } of before) {
      await admin.getByRole('button', { name: `Remove ${name}` }).click();
      await admin.getByText(name, { exact: true }).waitFor({ state: 'detached' });
    }
    expect(await passkeys()).toEqual([]);
    await thief.reload();
    await signIn(thief, sara.key);
    await thief.getByText('It has to be signed, and you have no passkey yet').waitFor();
    const { body } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`);
    expect([body.status, body.reviews]).toEqual(['proposed', []]);
  });
});
