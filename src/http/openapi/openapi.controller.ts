import {
  Controller,
  Get,
  Header,
  Redirect,
  Req,
  StreamableFile,
  UseGuards,
  type CanActivate,
  Injectable,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { basename } from 'node:path/posix';
import { Public, Uncounted, routeNotFound } from '../request/routes';
import { FOR_EVERYBODY } from '../answers/common-headers';
import { ApiDocument } from './api-document';
import { UI_ASSETS, uiAsset, UI_PAGE, UI_START, UI_STYLE } from './swagger-ui';
import { Configuration } from '../../core/config/configuration';

/** If the documentation is switched off, its paths do not exist. */
@Injectable()
class DocsEnabledGuard implements CanActivate {
  constructor(private readonly configuration: Configuration) {}

  canActivate(): boolean {
    if (!this.configuration.swaggerEnabled) {
      throw routeNotFound();
    }
    return true;
  }
}

/** The API document and the page that shows it; nothing is loaded from other origins. */
@ApiExcludeController()
@Public()
@UseGuards(DocsEnabledGuard)
@Controller()
export class OpenApiController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  @Redirect('/docs')
  home(): void {
    // The decorator says it all.
  }

  @Get('docs')
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(): string {
    return UI_PAGE;
  }

  @Get('docs/openapi.json')
  openApi(): StreamableFile {
    return new StreamableFile(this.document.get(), { type: 'application/json; charset=utf-8' });
  }

  @Get('docs/start.js')
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  start(): string {
    return UI_START;
  }

  @Get('docs/start.css')
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  @Header('Content-Type', 'text/css; charset=utf-8')
  style(): string {
    return UI_STYLE;
  }

  @Get(UI_ASSETS.map((name) => `docs/${name}`))
  @Uncounted()
  @Header('Cache-Control', FOR_EVERYBODY)
  async asset(@Req() request: Request): Promise<StreamableFile> {
    const found = await uiAsset(basename(request.path));
    if (found === undefined) {
      throw routeNotFound();
    }
    return new StreamableFile(found.content, { type: found.type });
  }

  /** Public like the document, but counted. */
  @Get('docs/:asset')
  nothing(): never {
    throw routeNotFound();
  }
}
