import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

const COMMENT = 'I have called them: the account is';
const POLICY = '{ "name": "half a policy';
const KEPT = 'What you typed is kept in this tab, for you alone, until you sign in again.';

/** True if the browser asks before it closes the page; the page stays. */
async function asksBeforeClosing(page: Page): Promise<boolean> {
  // No dialog will come once the page is closed.
  const dialogEvent = page.waitForEvent('dialog').catch(() => null);
  await page.close({ runBeforeUnload: true });
  const dialog = await dialogEvent;
  await dialog?.dismiss();
  expect(page.isClosed()).toBe(dialog === null);
  return dialog !== null;
}

describeInBrowser('What somebody types in the console and has not sent', () => {
  const stage = companyStage();
  let decisionId: string;

  beforeAll(async () => {
    ({ decisionId } = await askToPay(stage.company));
  });

  async function keyOfFinn(): Promise<{ id: string; secret: string }> {
    const { program, finn } = stage.company;
    const scopes = ['review', 'read', 'audit', 'policies'];
    return issueKey(program, { name: 'ends soon', scopes, agentId: finn.id });
  }

  async function revoke(id: string): Promise<void> {
    const { program } = stage.company;
    await send(program, 'POST', `/api/v1/api-keys/${id}/revoke`, { key: program.key, body: {} });
  }

  async function openDecision(): Promise<Page> {
    const { program } = stage.company;
    return stage.browser.open(`${program.url}/console/decisions/${decisionId}`, { expected: [/status of 401/] });
  }

  const comment = (page: Page): ReturnType<Page['getByLabel']> => page.getByLabel('Comment');
  const draft = (page: Page): ReturnType<Page['getByLabel']> => page.getByLabel('The policy', { exact: true });

  it('is there again after another screen, and when they sign in after their session has ended', async () => {
    const { finn } = stage.company;
    const { id, secret } = await keyOfFinn();
    const page = await openDecision();
    await signIn(page, secret);
    await comment(page).fill(COMMENT);
    await page.getByRole('link', { name: 'Proof', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Proof' }).waitFor();
    await page.goBack();
    await comment(page).waitFor();
    expect(await comment(page).inputValue()).toBe(COMMENT);
    await page.getByRole('link', { name: 'Policies', exact: true }).click();
    await page.getByRole('button', { name: 'New policy' }).click();
    await draft(page).fill(POLICY);
    await page.getByRole('button', { name: 'New policy' }).click();
    await page.getByRole('button', { name: 'New policy' }).click();
    expect(await draft(page).inputValue()).toBe(POLICY);
    await revoke(id);
    await page.getByText(KEPT).waitFor();
    expect(await page.content()).not.toContain(COMMENT);
    expect(await asksBeforeClosing(page)).toBe(true);
    await signIn(page, finn.key);
    await page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor();
    // This key of theirs may not write policies.
    expect(await draft(page).count()).toBe(0);
    await page.getByRole('link', { name: /^Inbox/ }).click();
    await page.getByRole('link', { name: /pay-invoice/ }).click();
    await comment(page).waitFor();
    expect(await comment(page).inputValue()).toBe(COMMENT);
    await comment(page).fill('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').filter({ hasText: 'Something that you typed is not sent yet.' }).waitFor();
    await page.getByRole('button', { name: 'Sign out and lose it' }).click();
    await page.getByLabel('Your key').waitFor();
    expect(await page.getByText(KEPT).count()).toBe(0);
    expect(await asksBeforeClosing(page)).toBe(false);
  });

  it('is in the open form where they come back to it, until they cancel it', async () => {
    const [first, second] = [await keyOfFinn(), await keyOfFinn()];
    const page = await stage.browser.open(`${stage.company.program.url}/console/policies`, {
      expected: [/status of 401/],
    });
    await signIn(page, first.secret);
    await page.getByRole('button', { name: 'New policy' }).click();
    await draft(page).fill(POLICY);
    await revoke(first.id);
    await page.getByText(KEPT).waitFor();
    await signIn(page, second.secret);
    await draft(page).waitFor();
    expect(await draft(page).inputValue()).toBe(POLICY);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'New policy' }).click();
    expect(await draft(page).inputValue()).toContain('a-new-policy');
    expect(await asksBeforeClosing(page)).toBe(false);
  });

  it('is not there for somebody else, nor again for them afterwards', async () => {
    const { finn, sara } = stage.company;
    const { id, secret } = await keyOfFinn();
    const page = await openDecision();
    await signIn(page, secret);
    await comment(page).fill(COMMENT);
    await revoke(id);
    await page.getByText(KEPT).waitFor();
    await signIn(page, sara.key);
    await comment(page).waitFor();
    expect(await comment(page).inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, finn.key);
    await comment(page).waitFor();
    expect(await comment(page).inputValue()).toBe('');
  });

  it('is not kept once it is sent', async () => {
    const { program, finn } = stage.company;
    const execution = await askToPay(stage.company, { invoice: 'to be rejected' });
    const page = await stage.browser.open(`${program.url}/console/decisions/${execution.decisionId}`);
    await signIn(page, finn.key);
    await comment(page).fill(COMMENT);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByText('It was rejected. Nothing was done.').waitFor();
    expect(await asksBeforeClosing(page)).toBe(false);
  });

  it('need not be lost unawares: the page says until when they are signed in, and when that ends soon', async () => {
    const { program } = stage.company;
    const { id: agentId } = await createAgent(program, { name: 'guest', kind: 'human' });
    for (const [seconds, endsSoon] of [
      [3_600, 0],
      [100, 1],
    ] as const) {
      const expiresAt = new Date(Date.now() + seconds * 1_000).toISOString();
      const { secret } = await issueKey(program, { name: 'guest', scopes: ['read'], agentId, expiresAt });
      const page = await stage.browser.open(`${program.url}/console/policies`);
      await signIn(page, secret);
      await page.getByText(/^Signed in until .*\d\d:\d\d/).waitFor();
      expect(await page.getByRole('alert').filter({ hasText: 'You will be signed out soon' }).count()).toBe(endsSoon);
    }
  });
});
