import{l as e}from"./chunk.TZ5ONCTH.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
