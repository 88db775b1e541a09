import { DirectoryClient } from '../../directory/directory-client';
import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

describeInBrowser('People of the directory, in the console', () => {
  const stage = companyStage(() => ({ DIRECTORY_ROLES: '{"id of Auditors":["audit-reader"]}' }));

  it('say what the directory manages, which is not changed here', async () => {
    const { program } = stage.company;
    const directory = new DirectoryClient(program, (await issueKey(program, { scopes: ['directory'] })).secret);
    const id = await directory.addUser('dora');
    await directory.addGroup('Auditors', [id]);
    await send(program, 'PATCH', `/api/v1/agents/${id}`, { body: { roles: ['audit-reader', 'night-shift'] } });
    const page = await stage.browser.open(`${program.url}/console/agents/${id}`, { expected: [/status of 409/] });
    await signIn(page, program.key);
    const about = page.getByRole('region', { name: 'About' });
    await about.getByText('id of dora').waitFor();
    await about.getByText('From groups of the directory: audit-reader.').waitFor();
    await page.getByRole('button', { name: 'Change it' }).click();
    const form = page.getByRole('form', { name: 'Change it' });
    await form.getByText('Roles of the directory, which it alone gives and takes, are not listed here.').waitFor();
    expect(await form.getByLabel('Roles').inputValue()).toBe('night-shift');
    await form.getByLabel('Roles').fill('day-shift');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    const { roles } = (await send(program, 'GET', `/api/v1/agents/${id}`)).body;
    expect(roles).toEqual(['audit-reader', 'day-shift']);

    await directory.patch(`Users/${id}`, { op: 'replace', path: 'active', value: false });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Resume it now' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Change it in the directory, which sends it with its next synchronisation.').waitFor();
  });
});
