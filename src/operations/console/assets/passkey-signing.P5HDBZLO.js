import{a,b,c,d,e}from"./chunk.Q34QGX2V.js";import"./chunk.IP5D2F5X.js";import"./chunk.QVG57DZE.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
