-- The database that servers/migrations.py works on when it was given no other.
create table customers (
    id integer primary key,
    name text not null,
    email text not null,
    city text
);
create table products (
    id integer primary key,
    name text not null,
    price_cents integer not null,
    fax_text text
);
create table "order" (
    id integer primary key,
    customer_id integer not null references customers (id),
    product_id integer not null references products (id),
    quantity integer not null check (quantity > 0),
    state text not null default 'open'
);
create index order_customer on "order" (customer_id);
create view open_orders as select id, customer_id, product_id, quantity from "order" where state = 'open';
insert into customers values
    (1, 'Amina Yusuf', 'amina@example.org', 'Nairobi'),
    (2, 'Luis Quispe', 'luis@example.org', 'Cusco'),
    (3, 'L. Quispe', 'luis@example.org', null),
    (4, 'Trần Minh', 'minh@example.org', 'Hà Nội');
insert into products values
    (1, 'Kettle', 2490, 'see page 4'),
    (2, 'Teapot', 1890, null),
    (3, 'Cup', 350, 'see page 7');
insert into "order" values
    (1, 1, 1, 1, 'open'),
    (2, 2, 3, 6, 'sent'),
    (3, 4, 2, 1, 'open');
