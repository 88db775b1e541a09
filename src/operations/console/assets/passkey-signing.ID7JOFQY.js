import{a,b,c,d,e}from"./chunk.JIJ3AIHT.js";import"./chunk.4RGTUKCH.js";import"./chunk.T4VBA6PY.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
